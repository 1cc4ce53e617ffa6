"""What people touch: the `sagepace` command."""

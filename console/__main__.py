"""`python -m console` is the `sagepace` command."""

from console.cli import main

if __name__ == "__main__":
    main()

"""The bus: the port, and its two adapters."""

"""The processes of a run: seven roles, and the two that serve them (inference holds the model, bus is the broker)."""

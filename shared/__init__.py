"""What every service needs: messages, the flow table, log, bus, engine port, rewards, domains. Imports nothing of services."""

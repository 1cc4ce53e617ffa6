"""Starts the gate: python -m services.gate --bus ADDRESS."""

from __future__ import annotations

from services.gate.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.GATE, build)

"""Starts the Challenger: python -m services.challenger --bus ADDRESS."""

from __future__ import annotations

from services.challenger.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.CHALLENGER, build)

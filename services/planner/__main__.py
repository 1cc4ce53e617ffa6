"""Starts the Planner: python -m services.planner --bus ADDRESS."""

from __future__ import annotations

from services.planner.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.PLANNER, build)

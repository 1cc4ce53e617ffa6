"""Starts the Solver: python -m services.solver --bus ADDRESS."""

from __future__ import annotations

from services.solver.service import build
from shared.messages import Role
from shared.serve import serve

if __name__ == "__main__":
    serve(Role.SOLVER, build)

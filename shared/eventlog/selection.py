"""Which facts are wanted, as conditions that SQLite answers from the log's indexes."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from shared.eventlog.entry import Row
from shared.eventlog.schema import among


class Query(NamedTuple):
    """An SQL text with the values of its parameters."""

    text: str
    values: tuple[str | int, ...]


class Selection(NamedTuple):
    """Facts of these types, by these roles, in these units of work; None is all of them.

    A lineage stands for that unit and those below it: ``s3`` gives ``s3.c7`` too, and ``s30`` not.
    """

    types: Collection[str] | None = None
    roles: Collection[str] | None = None
    lineages: Collection[str] | None = None

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return self.types is None and self.roles is None and self.lineages is None

    def condition(self) -> Query:
        """The whole selection as one condition on a row, ``1`` for all."""
        parts = [self._kinds()]
        if self.lineages is not None:
            each = [_below(lineage) for lineage in self.lineages]
            text = " OR ".join(query.text for query in each) or "0"
            parts.append(Query(f"({text})", tuple(value for query in each for value in query.values)))
        return Query(" AND ".join(part.text for part in parts), tuple(value for part in parts for value in part.values))

    def numbers(self) -> list[Query]:
        """Queries that together give the sequence numbers of the selected facts, each from an index and maybe unordered."""
        kinds = self._kinds()
        if self.lineages is None:
            return [Query(f"SELECT seq FROM facts INDEXED BY facts_by_type WHERE {kinds.text}", kinds.values)]
        queries = []
        for lineage in self.lineages:
            unit = _below(lineage)
            text = f"SELECT seq FROM facts INDEXED BY facts_by_lineage WHERE {unit.text} AND {kinds.text}"
            queries.append(Query(text, (*unit.values, *kinds.values)))
        return queries

    def takes(self, row: Row) -> bool:
        """Whether the row is selected."""
        return (
            (self.types is None or row.type in self.types)
            and (self.roles is None or row.role in self.roles)
            and (self.lineages is None or any(is_below(row.lineage, lineage) for lineage in self.lineages))
        )

    def _kinds(self) -> Query:
        texts: list[str] = []
        values: tuple[str, ...] = ()
        for column, wanted in (("type", self.types), ("role", self.roles)):
            if wanted is not None:
                texts.append(among(column, len(wanted)))
                values = (*values, *wanted)
        return Query(" AND ".join(texts) or "1", values)


def is_below(lineage: str, unit: str) -> bool:
    """Whether `lineage` is the unit of work or a part of it."""
    return lineage == unit or lineage.startswith(f"{unit}.")


def _below(lineage: str) -> Query:
    """The unit and what is below it: one range of the index, in which only the unit itself and names with a dot count."""
    text = "(lineage >= ? AND lineage < ? AND (lineage = ? OR lineage >= ?))"
    return Query(text, (lineage, f"{lineage}/", lineage, f"{lineage}."))

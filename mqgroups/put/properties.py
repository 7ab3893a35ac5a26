"""The properties that a producer or a pipe gives a group: checked, put with its first message, compared when it is resumed."""

from __future__ import annotations

from collections.abc import Mapping

from mqgroups.core.group_properties import MOST_BYTES, NAME, GroupProperties, contradiction, kept
from mqgroups.errors import GroupUsage, MessageRefused
from mqgroups.mqi.abc import PropertyValue
from mqgroups.mqi.properties import checked
from mqgroups.status.owner import Owner


def group_properties(name: str, properties: Mapping[str, PropertyValue] | None) -> Mapping[str, PropertyValue]:
    """Return the properties of a new group, with its name as one of them.

    Raises MessageRefused: one is not valid; or together they are longer than a status record keeps.
    """
    given = dict(checked(properties or {}))
    if not isinstance(name, str):
        raise MessageRefused(f"the name of a group must be a str, got {name!r}")
    if name:
        given |= checked({NAME: name})
    if kept(given) is None:
        raise MessageRefused(
            f"the properties of a group may take at most {MOST_BYTES} bytes in its status record. Put longer values as messages"
        )
    return given


def resumed_with(given: Mapping[str, PropertyValue], owner: Owner) -> GroupProperties:
    """Return the properties of a producer's interrupted group; raises GroupUsage if one has another value than is ``given``."""
    committed = owner.unit.note.properties
    other = contradiction(committed, given, complete=True) if committed is not None else None
    if committed is None or other is None:
        return committed
    found = repr(committed[other]) if other in committed else "no value"
    raise GroupUsage(
        f"group {owner.committed.group_id.hex()} was interrupted after {owner.committed.msg_seq_number} messages; its property "
        f"{other!r} has {found:.100}, and {given[other]!r:.100} is given now. The messages that follow would be put to the wrong "
        "group. Call group() without properties to resume the interrupted group; its `properties` say which one it is"
    )


def with_group_properties(
    group: Mapping[str, PropertyValue], message: Mapping[str, PropertyValue] | None
) -> Mapping[str, PropertyValue]:
    """Return the properties of a group's first message; raises MessageRefused if it has another value for one of the group's."""
    if not message:
        return group
    own = dict(checked(message))
    other = contradiction(group, own, complete=False)
    if other is not None:
        raise MessageRefused(
            f"property {other!r} is a property of the group with another value, and the group's first message has its properties"
        )
    return {**group, **own}

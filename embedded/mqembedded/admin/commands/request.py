"""Functions that PCF commands share: they check parameters, choose objects, and build responses.

A ``Shape`` describes the parameters that a command takes. A ``Request`` has the checked parameters of a command message.
Required parameters come first and in a fixed order, as on Multiplatforms (IBM MQ, "How the definitions are shown").
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mqembedded import constants as mq
from mqembedded.admin import pcf
from mqembedded.admin.pcf import Parameter, PCFError
from mqembedded.objects.attributes import Attribute, character_length
from mqembedded.objects.authority import ADMINISTRATOR
from mqembedded.objects.kinds import BY_LIST
from mqembedded.objects.others import ObjectValue
from mqembedded.wire import pcf_constants as cf

Row = list[Parameter]
Slot = tuple[int, int]

# By structure type: the reason codes for an unknown parameter, and for a parameter that is given twice.
_UNKNOWN = {
    cf.MQCFT_INTEGER: cf.MQRCCF_CFIN_PARM_ID_ERROR,
    cf.MQCFT_INTEGER64: cf.MQRCCF_CFIN_PARM_ID_ERROR,
    cf.MQCFT_INTEGER_LIST: cf.MQRCCF_CFIL_PARM_ID_ERROR,
    cf.MQCFT_INTEGER64_LIST: cf.MQRCCF_CFIL_PARM_ID_ERROR,
    cf.MQCFT_STRING: cf.MQRCCF_CFST_PARM_ID_ERROR,
    cf.MQCFT_STRING_LIST: cf.MQRCCF_CFSL_PARM_ID_ERROR,
    cf.MQCFT_BYTE_STRING: cf.MQRCCF_CFBS_PARM_ID_ERROR,
    cf.MQCFT_INTEGER_FILTER: cf.MQRCCF_CFIF_PARM_ID_ERROR,
    cf.MQCFT_STRING_FILTER: cf.MQRCCF_CFSF_PARM_ID_ERROR,
    cf.MQCFT_BYTE_STRING_FILTER: cf.MQRCCF_CFBF_PARM_ID_ERROR,
    cf.MQCFT_GROUP: cf.MQRCCF_CFGR_PARM_ID_ERROR,
}
_TWICE = {
    cf.MQCFT_STRING: cf.MQRCCF_CFST_DUPLICATE_PARM,
    cf.MQCFT_STRING_LIST: cf.MQRCCF_CFSL_DUPLICATE_PARM,
    cf.MQCFT_BYTE_STRING: cf.MQRCCF_CFBS_DUPLICATE_PARM,
}
_FILTERS = frozenset({cf.MQCFT_INTEGER_FILTER, cf.MQCFT_STRING_FILTER, cf.MQCFT_BYTE_STRING_FILTER})
_COMPARE: Mapping[int, Callable[[Any, Any], bool]] = {
    cf.MQCFOP_LESS: operator.lt,
    cf.MQCFOP_EQUAL: operator.eq,
    cf.MQCFOP_GREATER: operator.gt,
    cf.MQCFOP_NOT_LESS: operator.ge,
    cf.MQCFOP_NOT_EQUAL: operator.ne,
    cf.MQCFOP_NOT_GREATER: operator.le,
}


def integer(*identifiers: int) -> tuple[Slot, ...]:
    """Return a slot (structure type MQCFIN, identifier) for each of these parameters."""
    return tuple((cf.MQCFT_INTEGER, identifier) for identifier in identifiers)


def integers(*identifiers: int) -> tuple[Slot, ...]:
    """Return a slot (structure type MQCFIL, identifier) for each of these parameters."""
    return tuple((cf.MQCFT_INTEGER_LIST, identifier) for identifier in identifiers)


def text(*identifiers: int) -> tuple[Slot, ...]:
    """Return a slot (structure type MQCFST, identifier) for each of these parameters."""
    return tuple((cf.MQCFT_STRING, identifier) for identifier in identifiers)


def texts(*identifiers: int) -> tuple[Slot, ...]:
    """Return a slot (structure type MQCFSL, identifier) for each of these parameters."""
    return tuple((cf.MQCFT_STRING_LIST, identifier) for identifier in identifiers)


def byte_string(*identifiers: int) -> tuple[Slot, ...]:
    """Return a slot (structure type MQCFBS, identifier) for each of these parameters."""
    return tuple((cf.MQCFT_BYTE_STRING, identifier) for identifier in identifiers)


def settable(attributes: Iterable[Attribute]) -> tuple[Slot, ...]:
    """Return a slot (structure type, identifier) for each attribute that a command can set."""
    every = tuple(attributes)
    return (
        *integer(*(each.selector for each in every if not each.length)),
        *integers(*(each.selector for each in every if each.many)),
        *text(*(each.selector for each in every if each.length and not each.many)),
    )


def carried(attributes: Iterable[Attribute], values: Mapping[int, Any]) -> dict[int, Any]:
    """Return attribute values in their PCF form, in which a value that consists of several keywords is a list of numbers."""
    lists = (each for each in attributes if each.many and each.selector in values)
    return {**values, **{each.selector: each.numbers(values[each.selector]) for each in lists}}


@dataclass(frozen=True, slots=True)
class Shape:
    """The parameters that a command takes. ``filters`` is true if the command also accepts a filter."""

    required: tuple[Slot, ...] = ()
    optional: tuple[Slot, ...] = ()
    filters: bool = False

    def check(self, parameters: Sequence[Parameter]) -> Request:
        """Check a command's parameters, and return them as a request. Raises PCFError."""
        chosen = [parameter for parameter in parameters if parameter.type in _FILTERS]
        given = [parameter for parameter in parameters if parameter.type not in _FILTERS]
        if len(given) < len(self.required):
            raise PCFError(cf.MQRCCF_PARM_COUNT_TOO_SMALL)
        known = {*self.required, *self.optional}
        found: dict[int, Parameter] = {}
        for parameter in given:
            if (parameter.type, parameter.identifier) not in known:
                raise not_known(parameter)
            if parameter.identifier in found:
                reason = _TWICE.get(parameter.type, cf.MQRCCF_CFIN_DUPLICATE_PARM)
                raise PCFError(reason, parameter.identifier)
            found[parameter.identifier] = parameter
        for slot, parameter in zip(self.required, given, strict=False):
            if slot != (parameter.type, parameter.identifier):
                raise PCFError(cf.MQRCCF_PARM_SEQUENCE_ERROR, parameter.identifier)
        if chosen and not self.filters:
            raise not_known(chosen[0])
        if len(chosen) > 1:
            raise PCFError(cf.MQRCCF_TOO_MANY_FILTERS, chosen[1].identifier)
        return Request(found, chosen[0] if chosen else None)


def not_known(parameter: Parameter) -> PCFError:
    """Return the error for a parameter that the command does not have."""
    return PCFError(_UNKNOWN[parameter.type], parameter.identifier)


@dataclass(frozen=True, slots=True)
class Request:
    """A command's parameters by identifier, its filter, and its user."""

    parameters: Mapping[int, Parameter]
    filter: Parameter | None = None
    user: str = ADMINISTRATOR

    def text(self, identifier: int, length: int, default: str = "") -> str:
        """Return a text parameter, or ``default`` if it is missing; raise PCFError if it is longer than ``length``."""
        parameter = self.parameters.get(identifier)
        if parameter is None:
            return default
        assert isinstance(parameter.value, str)
        if len(parameter.value) > length:
            raise PCFError(cf.MQRCCF_CFST_STRING_LENGTH_ERR, identifier)
        return parameter.value

    def integer(
        self, identifier: int, allowed: Iterable[int], default: int = 0, reason: int = cf.MQRCCF_PARM_VALUE_ERROR
    ) -> int:
        """Return a number parameter, or ``default`` if it is missing; raise PCFError with ``reason`` if it is not ``allowed``."""
        parameter = self.parameters.get(identifier)
        if parameter is None:
            return default
        assert isinstance(parameter.value, int)
        if parameter.value not in allowed:
            raise PCFError(reason, identifier)
        return parameter.value

    def replaces(self) -> bool:
        """Return whether MQIACF_REPLACE asks to replace an existing object."""
        allowed = (cf.MQRP_YES, cf.MQRP_NO)
        return self.integer(cf.MQIACF_REPLACE, allowed, cf.MQRP_NO, cf.MQRCCF_REPLACE_VALUE_ERROR) == cf.MQRP_YES

    def values(self, *but: int) -> dict[int, ObjectValue]:
        """Return the attributes to set, by selector: all parameters except the parameters in ``but``."""
        values: dict[int, ObjectValue] = {}
        for identifier, parameter in self.parameters.items():
            if identifier in but:
                continue
            value = parameter.value
            if parameter.type == cf.MQCFT_INTEGER_LIST:
                assert isinstance(value, tuple)
                values[identifier] = BY_LIST[identifier].words(value)
            elif isinstance(value, tuple):
                values[identifier] = [str(item) for item in value]
            else:
                assert isinstance(value, int | str)
                values[identifier] = value
        return values

    def selectors(self, identifier: int, specials: Iterable[int] = ()) -> frozenset[int] | None:
        """Return the selectors in a list parameter, or None for all attributes.

        Each selector must exist in the MQI or in PCF, but this method does not check that the object has the attribute.
        """
        parameter = self.parameters.get(identifier)
        if parameter is None:
            return None
        assert isinstance(parameter.value, tuple)
        wanted = [value for value in parameter.value if isinstance(value, int)]
        for selector in wanted:
            if not (mq.MQIA_FIRST <= selector < 8000 or selector in specials):
                raise PCFError(mq.MQRC_SELECTOR_ERROR, selector, cf.MQIACF_SELECTOR)
        if len(set(wanted)) != len(wanted):
            twice = next(selector for selector in wanted if wanted.count(selector) > 1)
            raise PCFError(cf.MQRCCF_CFIL_DUPLICATE_VALUE, twice, cf.MQIACF_SELECTOR)
        return None if cf.MQIACF_ALL in wanted else frozenset(wanted)

    def passes(self, values: Mapping[int, object], known: Iterable[int]) -> bool:
        """Return whether the filter accepts an object with these attributes.

        Raises PCFError if the filter's attribute is not among ``known``, the attributes of this kind of object.
        """
        chosen = self.filter
        if chosen is None:
            return True
        if chosen.identifier not in known:
            raise not_known(chosen)
        value = values.get(chosen.identifier)
        return value is not None and _compares(value, chosen.operator, chosen.value)


def _compares(value: object, how: int, wanted: object) -> bool:
    if isinstance(value, list | tuple):
        if how in (cf.MQCFOP_CONTAINS_GEN, cf.MQCFOP_EXCLUDES_GEN):
            found = any(matches(str(item), str(wanted)) for item in value)
            return found == (how == cf.MQCFOP_CONTAINS_GEN)
        return (wanted in value) == (how == cf.MQCFOP_CONTAINS)
    if how in (cf.MQCFOP_LIKE, cf.MQCFOP_NOT_LIKE):
        return matches(str(value).rstrip(), str(wanted)) == (how == cf.MQCFOP_LIKE)
    compare = _COMPARE.get(how)
    if isinstance(value, str):
        value = value.rstrip()
    return compare is not None and type(value) is type(wanted) and compare(value, wanted)


def matches(name: str, generic: str) -> bool:
    """Return whether a name equals ``generic``, or begins with the part of ``generic`` before a final asterisk."""
    return name.startswith(generic[:-1]) if generic.endswith("*") else name == generic


def check_generic(name: str, reason: int = cf.MQRCCF_OBJECT_NAME_ERROR) -> None:
    """Raise PCFError if a name is empty or has an asterisk before its end."""
    if not name or "*" in name[:-1]:
        raise PCFError(reason)


def row(
    always: Row, values: Mapping[int, object], wanted: frozenset[int] | None, lengths: Mapping[int, int] | None = None
) -> Row:
    """Return a response: the parameters in ``always``, then the wanted attributes. Text is padded with blanks."""
    there = {parameter.identifier for parameter in always}
    chosen = [
        (selector, value)
        for selector, value in values.items()
        if selector not in there and (wanted is None or selector in wanted)
    ]
    return always + [_parameter(selector, value, lengths or {}) for selector, value in chosen]


def _parameter(selector: int, value: object, lengths: Mapping[int, int]) -> Parameter:
    length = lengths.get(selector) or character_length(selector)
    if isinstance(value, int):
        return pcf.integer(selector, value)
    if isinstance(value, bytes):
        return pcf.byte_string(selector, value)
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], int):
            return pcf.integers(selector, value)
        return pcf.strings(selector, [str(item) for item in value], length)
    return pcf.string(selector, str(value), length)

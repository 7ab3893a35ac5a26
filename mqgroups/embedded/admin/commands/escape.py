"""MQSC wrapped in PCF. Source: IBM MQ, topic "Escape"."""

from __future__ import annotations

from mqgroups.embedded.admin import mqsc_commands, pcf
from mqgroups.embedded.admin.commands.authority import display_authrec
from mqgroups.embedded.admin.commands.display import display
from mqgroups.embedded.admin.commands.permission import check_mqsc
from mqgroups.embedded.admin.commands.request import Request, Row, Shape, integer, text
from mqgroups.embedded.admin.mqsc import MQSCError, parse
from mqgroups.embedded.admin.pcf import PCFError
from mqgroups.embedded.answer import Failed
from mqgroups.embedded.queue_manager import QueueManager
from mqgroups.embedded.wire import pcf_constants as cf

_LONGEST_COMMAND = 32_768

ESCAPE = Shape(integer(cf.MQIACF_ESCAPE_TYPE) + text(cf.MQCACF_ESCAPE_TEXT))


def escape(q_mgr: QueueManager, request: Request) -> list[Row]:
    """MQCMD_ESCAPE: MQSC commands. If a command fails, the text of the response says why."""
    request.integer(cf.MQIACF_ESCAPE_TYPE, (cf.MQET_MQSC,), reason=cf.MQRCCF_ESCAPE_TYPE_ERROR)
    said: list[str] = []
    text = request.text(cf.MQCACF_ESCAPE_TEXT, _LONGEST_COMMAND)
    try:
        for command in parse(text):
            what = f"{command.verb} {command.kind}" + (f"({command.name})" if command.name else "")
            created = check_mqsc(q_mgr, request.user, command)
            if command.kind == "AUTHREC" and command.verb == "DISPLAY":
                said += display_authrec(q_mgr, command)
            elif command.verb == "DISPLAY":
                said += display(q_mgr, command, request.user)
            elif (
                command.verb == "DEFINE"
                and "REPLACE" not in command.parameters
                and mqsc_commands.exists(q_mgr, command)
            ):
                # A start-up file, which is read at every start, ignores this. But a user who asks wants to know it.
                raise MQSCError(f"AMQ8150E: {what}: it exists, and REPLACE is not given")
            else:
                ignored = [keyword for _, keyword in mqsc_commands.run(q_mgr, [command])]
                if created is not None:
                    q_mgr.catalogue.authorities.created(request.user, *created)
                if ignored == [""]:
                    said.append(f"{what}: applies to IBM MQ only; nothing was done")
                else:
                    said.append(f"{what}: done" + (f", without effect: {', '.join(ignored)}" if ignored else ""))
    except MQSCError as error:
        # The number of a line tells nothing where there is only one.
        raise EscapeFailed(str(error) if "\n" in text else error.why) from error
    except Failed as failed:
        raise EscapeFailed(f"AMQ8135E: {what}: not authorized") from failed
    return [escape_text(each) for each in said]


class EscapeFailed(PCFError):
    """An MQSC command that was refused; ``text`` says why."""

    def __init__(self, said: str) -> None:
        super().__init__(cf.MQRCCF_COMMAND_FAILED)
        self.text = said


def escape_text(said: str) -> Row:
    """Return the parameters of a response to an escape command."""
    return [pcf.integer(cf.MQIACF_ESCAPE_TYPE, cf.MQET_MQSC), pcf.string(cf.MQCACF_ESCAPE_TEXT, said)]

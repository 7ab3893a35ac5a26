"""The PCF command Escape, which contains MQSC commands. Source: IBM MQ, "Escape"."""

from __future__ import annotations

from mqembedded.admin import mqsc_commands, pcf
from mqembedded.admin.commands.authority import display_authrec
from mqembedded.admin.commands.display import display
from mqembedded.admin.commands.permission import check_mqsc
from mqembedded.admin.commands.request import Request, Row, Shape, integer, text
from mqembedded.admin.mqsc import MQSCError, parse
from mqembedded.admin.pcf import PCFError
from mqembedded.answer import Failed
from mqembedded.queue_manager import QueueManager
from mqembedded.wire import pcf_constants as cf

_LONGEST_COMMAND = 32_768

ESCAPE = Shape(integer(cf.MQIACF_ESCAPE_TYPE) + text(cf.MQCACF_ESCAPE_TEXT))


def escape(q_mgr: QueueManager, request: Request) -> list[Row]:
    """Carry out MQCMD_ESCAPE, which runs MQSC commands. If a command fails, the response's text explains why."""
    request.integer(cf.MQIACF_ESCAPE_TYPE, (cf.MQET_MQSC,), reason=cf.MQRCCF_ESCAPE_TYPE_ERROR)
    said = run_text(q_mgr, request.user, request.text(cf.MQCACF_ESCAPE_TEXT, _LONGEST_COMMAND))
    return [escape_text(each) for each in said]


def run_text(q_mgr: QueueManager, user: str, text_: str) -> list[str]:
    """Run MQSC commands as a user, and return the texts that they print; raise EscapeFailed at the first failure."""
    said: list[str] = []
    try:
        for command in parse(text_):
            what = f"{command.verb} {command.kind}" + (f"({command.name})" if command.name else "")
            created = check_mqsc(q_mgr, user, command)
            if command.kind == "AUTHREC" and command.verb == "DISPLAY":
                said += display_authrec(q_mgr, command)
            elif command.verb == "DISPLAY":
                said += display(q_mgr, command, user)
            elif (
                command.verb == "DEFINE"
                and "REPLACE" not in command.parameters
                and mqsc_commands.exists(q_mgr, command)
            ):
                # A start-up file ignores this, because it is read at every start. A user who runs a command gets an error.
                raise MQSCError(f"AMQ8150E: {what}: it exists, and REPLACE is not given")
            else:
                ignored = [keyword for _, keyword in mqsc_commands.run(q_mgr, [command])]
                if created is not None:
                    q_mgr.catalogue.authorities.created(user, *created)
                if ignored == [""]:
                    said.append(f"{what}: applies to IBM MQ only; nothing was done")
                else:
                    said.append(f"{what}: done" + (f", without effect: {', '.join(ignored)}" if ignored else ""))
    except MQSCError as error:
        # The line number is useless if there is only one line.
        raise EscapeFailed(str(error) if "\n" in text_ else error.why) from error
    except Failed as failed:
        raise EscapeFailed(f"AMQ8135E: {what}: not authorized") from failed
    return said


class EscapeFailed(PCFError):
    """An MQSC command was refused; ``text`` explains why."""

    def __init__(self, said: str) -> None:
        super().__init__(cf.MQRCCF_COMMAND_FAILED)
        self.text = said


def escape_text(said: str) -> Row:
    """Return the parameters of an Escape response that has this text."""
    return [pcf.integer(cf.MQIACF_ESCAPE_TYPE, cf.MQET_MQSC), pcf.string(cf.MQCACF_ESCAPE_TEXT, said)]

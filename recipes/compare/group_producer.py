"""mqgroups, as its README says: a producer with a name, ``resume_from``, and a checkpoint to know a completed group again."""

import mqgroups
from recipes.compare.job import Job, payload


def put_group(job: Job) -> None:
    """Put the group, or resume it."""
    with (
        mqgroups.connect(job.q_mgr_name, job.channel, job.conn_name) as q_mgr,
        q_mgr.group_producer(job.queue, name=job.name, commit_every=job.every) as producer,
    ):
        if producer.checkpoint != job.messages:
            with producer.group() as group:
                for number in range(group.resume_from + 1, job.messages + 1):
                    group.set_checkpoint(number)
                    group.put(payload(number))
        # Before closing, which takes the record of the completed group away.
        job.say_done()

"""A nursery: a process that has imported everything, and copies itself for every run, so that a run begins at once.

    python tools/job_nursery.py job.json targets out

A line on its input starts a run; it answers with the run's process id and then, when the run has ended, with its status
(negative: the signal).
"""

from __future__ import annotations

import os
import sys

from poise.scale import Job
from poise.scale.inputs import load_parquet


def main() -> None:
    """Run the job in copies of this process, one after the other, as asked."""
    job, inputs, out = Job.load(sys.argv[1]), sys.argv[2], sys.argv[3]
    load_parquet()
    for _ in sys.stdin:
        copy = os.fork()
        if copy == 0:
            job.run(inputs, out, threads=2)
            os._exit(0)
        print(copy, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)


if __name__ == "__main__":
    main()

"""A preloaded process that forks for every run of a job, so that a run starts without imports.

    python tools/job_nursery.py job.json targets out

A line on stdin starts a run. The process prints the run's process id and, when the run ends, its exit status (negative:
the signal).
"""

import os
import sys

from poise.scale import Job
from poise.scale.inputs import load_parquet


def main() -> None:
    """Run the job in forks of this process, one for each line of input."""
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

"""Run Python with the arguments given, and print what the operating system says of that process.

A process of its own, small: a child's peak memory counts from the fork on, and so would be at least
that of a large parent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

if __name__ == "__main__":
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    told = {
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_mib": used.ru_maxrss / 1024,
        "wall_s": time.perf_counter() - begin,
    }
    sys.stdout.write(json.dumps(told))
    sys.exit(child.returncode)

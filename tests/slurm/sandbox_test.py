"""The end of the cluster that the cases of jobs_test.py share."""
import shutil

from sandbox import SHARED, command_lines, find_tool, subprocess
from cases import case, expect, expect_equal, main


@case("the sandbox cluster shuts down with all its processes")
def down():
    done = subprocess.run([find_tool(), "down", "-r", SHARED], check=False)
    expect_equal(done.returncode, 0, "exit code")
    left = [line for line in command_lines() if SHARED.encode() in line]
    expect(len(left) == 0, f"still running: {left}")


if __name__ == "__main__":
    main()

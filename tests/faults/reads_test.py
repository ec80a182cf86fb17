"""What a file system refuses for a moment, or for ever, is said as it is: never as damage of an archive."""
import os
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "farm"))
from cases import case, expect_equal, main, scaled  # noqa: E402
from faults import Campaign, Folder, must, spread  # noqa: E402

EIO, ENOMEM, EINVAL, EMFILE, ESTALE = 5, 12, 22, 24, 116
READERS = {"check": ["check", "part.h5"], "table": ["table", "part.h5"], "export": ["export", "part.h5", "--table", "turns"],
           "plan": ["plan", "faults.toml", "--archive", "part.h5"], "status": ["status", "part.h5"],
           "merge": ["merge", "part.h5", "other.h5", "-o", "both.h5"],
           "run": ["run", "faults.toml", "--archive", "part.h5"]}


def calls_of(made, words, call, path):
    with Folder(made) as folder:
        folder.kvsweep(*words, fault=f"{call}:0:5:{path}")
        return folder.calls()


@case("a read of an archive that fails once ends a command with exit code 1, and no word of damage")
def reads_fail_once():
    wrong = []
    with Campaign() as campaign:
        for name, words in READERS.items():
            for call, errors in (("read", (EIO, ESTALE)), ("open", (EMFILE, ENOMEM))):
                for nth in spread(calls_of(campaign.made, words, call, "part.h5"), scaled(8)):
                    for error in errors:
                        with Folder(campaign.made) as folder:
                            code, out, err = folder.kvsweep(*words, fault=f"{call}:{nth}:{error}:part.h5")
                            written = code == 5 and "cannot create " in err
                            if (code not in (0, 1) or "damaged" in out + err) and not written:
                                wrong.append((name, call, nth, error, code, err))
                            if folder.kvsweep("check", "part.h5")[0] != 0:
                                wrong.append((name, call, nth, error, "the archive is not as it was"))
    expect_equal(wrong, [], "reads that are taken for damage")


def shard_left(folder):
    """The name of a result that a run left beside its archive, since a rename failed."""
    for nth in range(1, 20):
        folder.kvsweep("run", "faults.toml", "--archive", "part.h5", fault=f"rename:{nth}:{EIO}:part.h5")
        os.remove(folder.file("count"))
        beside = folder.file("part.h5.d")
        shards = sorted(name for name in os.listdir(beside) if name.endswith(".h5")) if os.path.isdir(beside) else []
        if shards:
            return shards[0]
    raise RuntimeError("no run left a result beside its archive")


@case("a result beside an archive that cannot be read once is not left out without a word")
def shards_fail_once():
    with Campaign() as campaign, Folder(campaign.made) as folder:
        shard = shard_left(folder)
        code, _, err = folder.kvsweep("plan", "faults.toml", "--archive", "part.h5", fault=f"read:1:{EIO}:{shard}")
        expect_equal((code, "cannot read" in err), (1, True), f"the plan that cannot read a result ({err})")


@case("a bundle is packed whole or not at all, whichever open or read fails")
def bundles_are_whole():
    wrong = []
    with Campaign() as campaign:
        words = ["pack", "part.h5", "-o", "bundle"]
        for call, error in (("open", EMFILE), ("read", EIO)):
            for nth in spread(calls_of(campaign.made, words, call, "bundle"), scaled(10)):
                with Folder(campaign.made) as folder:
                    code, _, err = folder.kvsweep(*words, fault=f"{call}:{nth}:{error}:bundle")
                    there = os.path.exists(folder.file("bundle"))
                    if there and folder.kvsweep("verify", "bundle", "--minutes", "0")[0] != 0:
                        wrong.append((call, nth, code, "the bundle is damaged"))
                    if (code == 0) != there or "damaged" in err:
                        wrong.append((call, nth, code, err))
    expect_equal(wrong, [], "failing calls that pack does not survive")


@case("a file of a bundle that cannot be opened once is not called damaged or different")
def verify_says_what_it_cannot_read():
    wrong = []
    with Campaign() as campaign:
        for path in ("bundle/expected/", "bundle/sweeps/", "bundle/manifest.toml", "bundle/README.md"):
            with Folder(campaign.made) as folder:
                must(folder.kvsweep("pack", "part.h5", "-o", "bundle"), "pack")
                code, out, err = folder.kvsweep("verify", "bundle", "--minutes", "0", fault=f"open:1:{EIO}:{path}")
                if code != 1 or "DAMAGED" in out or "DIFFERS" in out or "cannot" not in err:
                    wrong.append((path, code, out, err))
    expect_equal(wrong, [], "files that are judged without being read")


@case("a file system that cannot sync, neither folders nor files, is no error")
def sync_is_not_supported():
    with Campaign() as campaign, Folder(campaign.made) as folder:
        code, _, err = folder.kvsweep("run", "faults.toml", "--archive", "new.h5", fault=f"sync:1:{EINVAL}:/:on")
        expect_equal(code, 0, f"the run ({err})")
        expect_equal(folder.kvsweep("check", "new.h5")[0], 0, "the check of its archive")


@case("a umask that takes the owner's own permissions leaves them to the owner")
def owner_may_read():
    with Campaign() as campaign, Folder(campaign.made) as folder:
        before = os.umask(0o777)
        try:
            must(folder.kvsweep("run", "faults.toml", "--archive", "new.h5"), "the run")
        finally:
            os.umask(before)
        mode = stat.S_IMODE(os.stat(folder.file("new.h5")).st_mode)
        expect_equal(oct(mode), oct(0o600), "the mode of the archive")


if __name__ == "__main__":
    main()

"""What `kvsweep submit` prints, and what it refuses before anything is queued. Needs no Slurm."""
import os
import re
import shutil
import subprocess
import tempfile

from submission import CLUSTERS, MATRIX, PROGRAM, SOURCE, USAGE, Profile, expect_golden, printed, refused, submit
from cases import case, expect, expect_equal, expect_in, main, skip  # noqa: E402


@case("the 72 cells on PACE Phoenix: a job for each card, and one that merges")
def pace():
    expect_golden("pace-phoenix.txt", printed(
        "--cluster", "pace-phoenix", "--account", "gts-someone", "--backend", "cuda", "--gpus", "4",
        "--sku", "h100-80gb,a100-40gb,h200-141gb"))


@case("on an unknown cluster a job requests the feature with the SKU's name")
def generic():
    expect_golden("generic.txt", printed(
        "--sku", "a100-40gb", "--backend", "cuda", "--launcher", "srun"))


@case("a sweep of backend sim needs no GPU: its job says so, asks for none, and runs where merges do")
def simulated():
    text = printed("--cluster", "pace-phoenix", "--account", "gts-someone", "--sku", "h100-80gb", "--gpus", "4")
    job = re.split(r"^# ----- .*\n", text, flags=re.MULTILINE)[1]
    expect("--gres" not in job and "--constraint" not in job, job)
    expect_in("on 4 workers. Backend sim needs no GPU, so none is requested.", job, "job")


def hours_asked_for(*words):
    text = printed("--sku", "a100-40gb", "--backend", "cuda", *words)
    hours, minutes = re.search(r"#SBATCH --time=(\d+):(\d+):00", text).groups()
    return int(hours) + int(minutes) / 60


@case("the limit follows the plan: fewer cells or more GPUs need less, and none more than the QOS")
def times():
    all_cells = hours_asked_for()
    expect(hours_asked_for("--only", "jps=1") < all_cells, "a quarter of the cells needs less")
    expect(hours_asked_for("--gpus", "4") < all_cells, "four GPUs need less")
    pace = ("--cluster", "pace-phoenix", "--account", "gts-someone")
    expect(hours_asked_for(*pace, "--qos", "embers") <= 8, "embers ends after 8 hours")


@case("every script is one that bash can read")
def syntax():
    for words in (("--smoke",), ("--launcher", "srun"), ("--cluster", "sandbox")):
        text = printed("--sku", "h100-80gb,a100-40gb", *words)
        for script in re.split(r"^# ----- .*\n", text, flags=re.MULTILINE)[1:]:
            checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True,
                                     check=False)
            expect_equal((checked.returncode, checked.stderr), (0, ""), "bash -n")


@case("a submission without an account is refused where the cluster charges one, naming the key and its line")
def account():
    message = refused("--cluster", "pace-phoenix", "--sku", "a100-40gb")
    expect_in("--account", message, "message")
    expect(re.search(r"pace-phoenix\.toml:\d+:\d+: cluster\.account_required", message), message)


@case("two SKUs that a profile asks for in the same way are refused: the job would land on either card")
def same_nodes():
    with Profile("pace-phoenix", ('constraint = "A100-80GB"', 'constraint = "A100-40GB"')) as profile:
        first = profile.line_of('constraint = "A100-40GB"')
        profile.expect_refused("sku.a100-80gb.constraint", "sku.a100-40gb", f":{first}:",
                               "same partition, gres and constraint")
    with Profile("pace-phoenix", ('constraint = "A100-40GB"', 'constraint = ""')) as profile:
        profile.expect_refused("sku.a100-40gb.constraint", "sku.a100-80gb", "some of the same nodes",
                               line=profile.line_of('constraint = ""'))


@case("a key that is missing, unknown or of the wrong type is named with its file and line")
def keys():
    with Profile("generic", ("signal_lead_s = 420", "signal_leed_s = 420")) as profile:
        profile.expect_refused("cluster.signal_lead_s", "is missing", "cluster.signal_leed_s")
    with Profile("generic", ('constraint = "a100-40gb"\n', "")) as profile:
        profile.expect_refused("sku.a100-40gb.constraint", "is missing")
    with Profile("generic", ("staging_gib = 24", "staging_gib = 24\ncolour = 3")) as profile:
        profile.expect_refused("cluster.colour", "unknown key", line=profile.line_of("colour"))
    with Profile("generic", ("gpus_per_node = 4", 'gpus_per_node = "four"')) as profile:
        profile.expect_refused("sku.a100-40gb.gpus_per_node", "integer", line=profile.line_of("four"))


@case("keys that contradict each other are refused with the places of both")
def contradictions():
    with Profile("generic", ("end_margin_s = 90", "end_margin_s = 420")) as profile:
        profile.expect_refused("cluster.end_margin_s", "cluster.signal_lead_s (420",
                               f":{profile.line_of('signal_lead_s')}:",
                               line=profile.line_of("end_margin_s = 420"))
    with Profile("generic", ('gres = "gpu:a100"', 'gres = "gpu:a100:2"')) as profile:
        profile.expect_refused("sku.a100-40gb.gres", "without a number",
                               line=profile.line_of("gpu:a100:2"))
    for before, after in ('gres = "gpu:a100"', 'gres = "gpu:a100,gpu:h100"'), ('"a100-40gb"', '"a100-40gb|a100-80gb"'):
        with Profile("generic", (before, after)) as profile:
            profile.expect_refused("sku.a100-40gb.", "one kind of card", line=profile.line_of(after))
    with Profile("pace-phoenix", ('qos = "inferno"', 'qos = "purgatory"')) as profile:
        profile.expect_refused("cluster.qos", "purgatory", line=profile.line_of("purgatory"))
    with Profile("generic", ('mpirun = "mpirun --bind-to none"', 'mpirun = ""')) as profile:
        profile.expect_refused("cluster.mpirun", "is empty", line=profile.line_of('mpirun = ""'))


@case("a cell that cannot end within the longest job, or fit a node's memory, is refused with the key that forbids it")
def too_large():
    with Profile("generic", ("max_hours = 24", "max_hours = 0.3")) as profile:
        profile.expect_refused("cluster.max_hours", line=profile.line_of("max_hours = 0.3"),
                               options=("--backend", "cuda"))
    with Profile("generic", ("cores_per_gpu = 8", "cores_per_gpu = 8\nnode_memory_gib = 100")) as profile:
        profile.expect_refused("sku.a100-40gb.node_memory_gib", "128", "152",
                               line=profile.line_of("node_memory_gib = 100"),
                               options=("--backend", "cuda"))


@case("a job never asks for more memory than a node has, nor for less than the tiers that run together")
def whole_gib():
    for node, asked in ("503.5", 503), ("503", 503), ("608", 608), ("608.5", 608), ("2000", 608):
        with Profile("generic", ("[sku.a100-40gb]", f"[sku.a100-40gb]\nnode_memory_gib = {node}")) as profile:
            text = printed("--cluster", profile.path, "--sku", "a100-40gb", "--backend", "cuda", "--gpus", "4")
            expect_in(f"#SBATCH --mem={asked}G\n", text, f"memory of a node of {node} GiB")


@case("a SKU that the sweep or the cluster does not have is refused with those that there are")
def unknown_skus():
    expect_in("h100-80gb, a100-40gb, h200-141gb", refused("--sku", "l40s-48gb"), "message")
    with Profile("generic", ("[sku.a100-40gb]", "[sku.a100-44gb]")) as profile:
        profile.expect_refused("[sku.a100-40gb]", "a100-44gb", "the cluster has: ")
    expect_in("pace-phoenix", refused("--sku", "a100-40gb", "--cluster", "pace-pheonix"), "message")


@case("options for the run are passed on, quoted for the shell where necessary")
def handed_on():
    folder = tempfile.mkdtemp(prefix="kvs sweep ")
    try:
        sweep = shutil.copy(MATRIX, os.path.join(folder, "my matrix.toml"))
        done = submit("--archive", "/scratch/me/results.h5", "--print", "--sku", "a100-40gb", "--only", "jps=1,3",
                      "--skip", "policy=lmcache", "--set", "workload.jobs=7", "--record", "jobs", "--profiles", SOURCE + "/sweeps", sweep=sweep)
        expect_equal(done.returncode, 0, f"exit code, {done}")
        for words in (f"sweep='{sweep}'", "--only jps=1,3,gpu=a100-40gb ", "--skip policy=lmcache ", "--set workload.jobs=7", "--record jobs",
                      f"--profiles {SOURCE}/sweeps"):
            expect_in(words, done.stdout, "script")
    finally:
        shutil.rmtree(folder)


@case("a run of a single cell has that cell alone, named by its number or the start of its key")
def single_cell():
    plan = subprocess.run([PROGRAM, "plan", MATRIX, "--json"], capture_output=True, text=True, check=True).stdout
    key = re.findall(r'"cell":5,"key":"([0-9a-f]{64})"', plan)[0]
    for word in "5", key[:12]:
        shown = subprocess.run([PROGRAM, "plan", MATRIX, "--json", "--cell", word], capture_output=True, text=True,
                               check=True).stdout
        expect_equal(re.findall(r'"cell":(\d+),', shown), ["5"], f"cells of --cell {word}")
    for word in "999", "0123456789ab":
        done = subprocess.run([PROGRAM, "plan", MATRIX, "--cell", word], capture_output=True, text=True, check=False)
        expect_equal(done.returncode, USAGE, f"exit code of --cell {word}, {done}")
        expect_in(word, done.stderr, "message")


def minutes_planned(line):
    number, unit = re.search(r"about ([0-9.]+) (s|min)", line).groups()
    return float(number) / (60 if unit == "s" else 1)


@case("a smoke test has one cell a SKU, of about two minutes, on one GPU, and drains its first start")
def smoke():
    text = printed("--sku", "h100-80gb,h200-141gb", "--backend", "cuda", "--smoke", "--gpus", "4")
    expect_equal(len(re.findall(r"--cell [0-9a-f]{12} ", text)), 2, "cells")
    expect_equal(len(re.findall(r"^#SBATCH --gres=\S+:1$", text, re.MULTILINE)), 2, "GPUs")
    expect_equal(text.count("scancel --batch --signal=USR1"), 2, "drains")
    expect(all(60 <= minutes_planned(line) * 60 <= 240 for line in text.splitlines() if "planned to take" in line), text)


@case("a profile without GPUs is refused with the file to copy")
def incomplete():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mine.toml")
        with open(path, "w", encoding="utf-8") as file:
            with open(os.path.join(CLUSTERS, "generic.toml"), encoding="utf-8") as generic:
                file.write(generic.read().split("[sku.")[0])
        message = refused("--sku", "a100-40gb", "--cluster", path)
    for word in "names no GPU", os.path.join("clusters", "generic.toml"):
        expect_in(word, message, "message")


@case("words that a batch script could not carry are refused")
def odd_words():
    expect_in("' '", refused("--sku", "a100-40gb", archive="/scratch/my results/a.h5"), "message")
    expect_in(".h5", refused("--sku", "a100-40gb", archive="/scratch/results"), "message")
    expect_in("--sku", refused("--sku", "a100-40gb", "--only", "gpu=a100-40gb"), "message")
    expect_in("more than once", refused("--sku", "a100-40gb,a100-40gb"), "message")


@case("text with a line break, and names that Slurm does not allow, are refused with their option or key")
def injections():
    for option in "--account", "--qos":
        for word in "me\n#SBATCH --partition=all", "me; rm -rf ~", "$(id)", "a b":
            expect_in(option, refused("--sku", "a100-40gb", option, word), "message")
    for option, word in (("--only", "jps=1\nid"), ("--skip", "jps=1\rid"), ("--set", "workload.jobs=7\n")):
        expect_in(option, refused("--sku", "a100-40gb", option, word), "message")
    expect_in("--archive", refused("--sku", "a100-40gb", archive="/scratch/\x01.h5"), "message")
    for key, before, after in (("cluster.scratch", 'scratch = "', 'scratch = "/tmp\\nid #'),
                               ("cluster.modules", 'modules = "', 'modules = "gcc\\nid #'),
                               ("sku.a100-40gb.constraint", 'constraint = "a100-40gb"', 'constraint = "a100-40gb # or any"'),
                               ("sku.a100-40gb.partition", '40gb]\npartition = ""', '40gb]\npartition = "gpu --exclusive"'),
                               ("cluster.merge_partition", 'merge_partition = ""', 'merge_partition = "a b"')):
        with Profile("generic", (before, after)) as profile:
            profile.expect_refused(key, line=profile.line_of(after.splitlines()[-1]))
    with Profile("generic", ("[sku.h100-80gb]", '[sku."h100 80gb"]')) as profile:
        profile.expect_refused("sku.h100 80gb", "must consist of")


def gpus_asked_for(*words):
    text = printed("--sku", "a100-40gb", "--cluster", "pace-phoenix", "--account", "gts-someone", "--backend", "cuda", *words)
    per_node = int(re.search(r"#SBATCH --gres=gpu:A100:(\d+)", text).group(1))
    nodes = int(re.search(r"#SBATCH --nodes=(\d+)", text).group(1))
    expect_in(f"mpirun --bind-to none --map-by node -n {nodes * per_node + 1} ", text, "ranks")
    return nodes * per_node


@case("a job asks for as many GPUs as it was told, or fewer where cells are fewer, and a number that nodes cannot share evenly is refused")
def even_gpus():
    for gpus in 1, 2, 4, 6:
        expect_equal(gpus_asked_for("--gpus", str(gpus)), gpus, "GPUs of two a node")
    expect_equal(gpus_asked_for("--gpus", "4", "--only", "policy=fcfs,jps=1,3,6"), 2, "GPUs for three cells")
    expect_equal(gpus_asked_for("--gpus", "4", "--only", "policy=fcfs,jps=1"), 1, "GPUs for one cell")
    message = refused("--sku", "a100-40gb", "--cluster", "pace-phoenix", "--account", "gts-someone", "--gpus", "3")
    for words in "--gpus 3", "a100-40gb", "sku.a100-40gb.gpus_per_node", "give 2 or 4":
        expect_in(words, message, "message")
    for gpus in "0", "2147483647":
        message = refused("--sku", "a100-40gb", "--cluster", "pace-phoenix", "--account", "gts-someone", "--gpus", gpus)
        expect_in(f"--gpus must be from 1 to 100000, found {gpus}", message, "message")


@case("modules are loaded before the script sets -u")
def modules_first():
    with Profile("generic", ('modules = ""', 'modules = "gcc openmpi"')) as profile:
        for script in scripts_of(printed("--cluster", profile.path, "--sku", "a100-40gb")):
            expect(0 < script.index("\nmodule load gcc openmpi\n") < script.index("\nset -u"), script)


SERVERS = os.path.join(SOURCE, "sweeps/experiments/servers/vllm-matrix-72.toml")
IMAGES = (('\ncontainer = ""', '\ncontainer = "/shared/kvsweep.sif"'),
          ('server_container = ""', 'server_container = "${HOME}/vllm.sif"'),
          ('model_cache = ""', 'model_cache = "/shared/models"'))


def scripts_of(text):
    return re.split(r"^# ----- .*\n", text, flags=re.MULTILINE)[1:]


@case("a container of the profile runs kvsweep wherever a script calls it, with its folders and the model cache")
def containers():
    with Profile("generic", IMAGES[0], IMAGES[2]) as profile:
        text = printed("--cluster", profile.path, "--sku", "a100-40gb", "--backend", "cuda")
        *jobs, merge = scripts_of(text)
        expect_equal(len(jobs), 1, "jobs")
        for script in jobs[0], merge:
            expect_in("\nkvsweep=kvsweep\n", script, "script")
            expect_equal(len(re.findall(r'"\$kvsweep"', script)),
                         script.count('"${container[@]}" "$kvsweep" '), "calls, in the container")
            done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
            expect_equal(done.returncode, 0, f"syntax, {done}")
        expect_in('\nexport HF_HOME="/shared/models"\n', jobs[0], "job")
        expect_in('container=(apptainer exec --nv --bind "${sweep%/*}" --bind "${archive%/*}" --bind "$TMPDIR" '
                  '--bind "$HF_HOME" "/shared/kvsweep.sif")\n', jobs[0], "job")
        expect("server.prefix" not in text, "no server is started")


@case("a container for servers is in front of their command alone, with the model cache")
def server_containers():
    for changes, bind in (IMAGES[1:2], ""), (IMAGES[1:], " --bind $HF_HOME"):
        with Profile("generic", *changes) as profile:
            done = submit("--archive", "/scratch/me/results.h5", "--print", "--cluster", profile.path, "--sku",
                          "a100-40gb", sweep=SERVERS)
            if "built without it" in done.stderr:
                skip("built without libcurl")
            expect_equal(done.returncode, 0, f"exit code, {done}")
            expect_in(f' --set "server.prefix=apptainer exec --nv{bind} ${{HOME}}/vllm.sif"', done.stdout, "script")
            expect("container[@]" not in done.stdout, "kvsweep itself is in no container")
            expect_equal("HF_HOME" in done.stdout, bind != "", "a model cache")
    words = ("plan", SERVERS, "--only", "server.profile=stock", "--set", "server.prefix=apptainer exec --nv vllm.sif", "--json")
    keys = [re.findall(r'"key":"([0-9a-f]{64})"', subprocess.run([PROGRAM, *some], capture_output=True, text=True,
                                                                   check=True).stdout)
            for some in (words, words[:4] + words[6:])]
    expect(len(keys[0]) > 10 and keys[0] == keys[1], "a container makes cells no others")


@case("an image or a model cache that is no plain path is refused with its key and line")
def odd_images():
    for key, _ in IMAGES:
        name = key.split()[0].strip()
        for value in "my image.sif", "$(id).sif", "a;id", "'a'":
            with Profile("generic", (key, key.replace('""', f'"{value}"'))) as profile:
                profile.expect_refused("cluster." + name, "must be a path",
                                       line=profile.line_of(f'{name} = "{value}"'))


@case("servers in a container of their own are refused where kvsweep is in one itself")
def two_containers():
    with Profile("generic", *IMAGES) as profile:
        profile.expect_refused("cluster.server_container", "give one of them",
                               line=profile.line_of("server_container ="))


@case("without --go scripts are written and the commands that submit them printed, and one that was edited is kept")
def written():
    folder = tempfile.mkdtemp()
    try:
        words = ("--sku", "a100-40gb,h100-80gb", "--archive", "results.h5")
        first = submit(*words, cwd=folder)
        expect_equal(first.returncode, 0, f"exit code, {first}")
        names = ["results.a100-40gb.sbatch", "results.h100-80gb.sbatch", "results.merge.sbatch"]
        expect_equal(sorted(os.listdir(folder)), names, "files")
        expect_in(f"sbatch --dependency=afterany:JOB1:JOB2,singleton {folder}/{names[2]}\n",
                  first.stdout, "standard output")
        edited = os.path.join(folder, names[0])
        kept = [edited + end for end in (".old", ".old2", ".old3")]
        for number, name in enumerate(kept):
            with open(edited, "a", encoding="utf-8") as file:
                file.write(f"# mine {number}\n")
            again = submit(*words, cwd=folder)
            expect_in(f"is now {name}\n", again.stdout, "standard output")
        expect_equal(submit(*words, cwd=folder).stdout, first.stdout, "standard output, where nothing differs")
        expect_equal(sorted(os.listdir(folder)), sorted(names + [os.path.basename(name) for name in kept]), "files")
        for number, name in enumerate(kept):
            with open(name, encoding="utf-8") as file:
                expect(file.read().endswith(f"# mine {number}\n"), f"{name} is not what was edited")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

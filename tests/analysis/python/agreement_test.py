#!/usr/bin/env python3
"""`table`, `report`, `compare`, `claims` and the Python package name the same winner, by the same ratio, on ten archives and four figures.

    agreement_test.py KVSWEEP SOURCE_DIR
"""
import csv
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import unittest

program, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(source / "analysis/python"))
try:
    import kvsweep
    from kvsweep.estimates import HIGHER
    from kvsweep.panels import panels_of
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(0)
from folder import Folder  # noqa: E402
from page_data import PageData  # noqa: E402

# Policies, repeats, gap of the tools, cost model, pool in tokens: few repeats and many, ties, pressure and none.
ARCHIVES = [
    (["fcfs", "continuum"], 1, 1, "published", 60_000),
    (["fcfs", "continuum", "job_fcfs"], 3, 1, "published", 60_000),
    (["fcfs", "continuum", "job_fcfs", "pin"], 5, 1, "published", 40_000),
    (["fcfs", "continuum", "job_fcfs"], 3, 5, "published", 60_000),
    (["fcfs", "continuum", "pin"], 4, 1, "kernels", 60_000),
    (["fcfs", "job_fcfs", "infercept"], 3, 2, "kernels", 40_000),
    (["fcfs", "continuum"], 3, 1, "published", 458_000),
    (["fcfs", "job_fcfs", "ski_rental"], 6, 1, "published", 50_000),
    (["pin", "job_fcfs", "continuum"], 3, 0.5, "published", 50_000),
    (["fcfs", "continuum", "job_fcfs", "pin", "recompute"], 3, 1, "kernels", 30_000),
]
FIGURES = ["jct_wall_mean_s", "output_tok_per_s", "prefix_hit_rate", "ttft_mean_s"]  # two are better if they are higher


def sweep_of(number, policies, repeats, gap, model, tokens):
    return (f'schema = 1\n[sweep]\nname = "agree-{number}"\nbackend = "sim"\n[axes]\ngpu = ["h100-80gb"]\npolicy = {json.dumps(policies)}\n'
            f'jps = [2, 8]\n[repeat]\nn = {repeats}\n[sim]\ncost_model = "{model}"\n[engine]\nkv_tokens = {tokens}\n'
            f'[workload]\nkind = "swe_smith_like"\njobs = 14\ngap_s = {gap}\n')


def words_of(standing):
    return set(re.findall("best|tie|undecided", standing))


class Agreement(Folder):
    def say(self, *words):
        done = subprocess.run([program, *map(str, words)], cwd=self.dir, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self, *words):
        return list(csv.DictReader(io.StringIO(self.say(*words, "--format", "csv"))))

    def test_one_winner_everywhere(self):
        told_apart = 0
        for number, (policies, *rest) in enumerate(ARCHIVES):
            (self.dir / "s.toml").write_text(sweep_of(number, policies, *rest))
            archive = f"a{number}.h5"
            self.say("run", "s.toml", "--archive", archive)
            page = self.page_of(archive)
            panel = panels_of(kvsweep.open(self.dir / archive))[0]
            self.claims = []
            for metric in FIGURES:
                table = self.rows("table", archive, "--metric", metric)
                for jps in (2, 8):
                    with self.subTest(archive=number, metric=metric, jps=jps):
                        told_apart += self.check(archive, page, panel, table, metric, jps)
            with self.subTest(archive=number):
                self.check_claims(archive)
        self.assertGreater(told_apart, 20)  # otherwise nothing is compared

    def page_of(self, archive):
        self.say("report", archive, "-o", "page")
        parser = PageData()
        parser.feed((self.dir / "page/index.html").read_text())
        return json.loads(parser.text) if parser.text else None

    def check(self, archive, page, panel, table, metric, jps):
        """Whether there is one winner, and the others are told from it by a claim as well."""
        standings = {row["variant"]: words_of(row["standing"]) for row in table if float(row["jps"]) == jps}
        decision = next(iter(panel.decisions(jps, metric).values()))
        ours = {variant: set() for variant in standings}
        ours[decision.best] = {"tie"} if decision.tied else {"best"}
        for variant in decision.tied:
            ours[variant] = {"tie"}
        for variant in decision.undecided:
            ours[variant] = {"undecided"}
        self.assertEqual(standings, ours)
        if page is not None and metric in page["panels"][0]["groups"][0]["figures"]:
            shown = {group["variant"]: words_of(group["figures"][metric]["standing"])
                     for group in page["panels"][0]["groups"] if float(group["jps"]) == jps}
            self.assertEqual(shown, standings)
        if page is not None and metric == "jct_wall_mean_s":
            regime = next(each for each in page["regimes"] if float(each["jps"]) == jps)
            self.assertIn(decision.best, [regime["winner"], *regime["tied"]])
        self.check_ratios(archive, decision, metric, jps)
        return bool(decision.behind) and not decision.tied

    def check_ratios(self, archive, decision, metric, jps):
        if not decision.over_best:
            return
        pairs = self.rows("compare", archive, "--by", "policy", "--base", f"policy={decision.best}", "--metric", metric, "--only", f"jps={jps}")
        by_policy = {row["policy"]: row for row in pairs}
        self.assertEqual(len(by_policy), len(pairs))
        for other, ratio in decision.over_best.items():
            row = by_policy[other]
            self.assertTrue(math.isclose(float(row["ratio"]), ratio.value, rel_tol=1e-9))
            if not math.isnan(ratio.low):
                self.assertTrue(math.isclose(float(row["low95"]), ratio.low, rel_tol=1e-6, abs_tol=1e-12))
            if other == decision.next:
                self.claims.append((decision.best, other, metric, jps, float(row["ratio"]), ratio.repeats))

    def check_claims(self, archive):
        """Claims that the next one is worse have compare's ratios, and their directions are reproduced if their intervals say so."""
        profiles = self.dir / "profiles"
        if not profiles.exists():
            profiles.mkdir()
            for name in ("gpus", "models", "policies", "published", "experiments"):
                (profiles / name).symlink_to(source / "sweeps" / name)
            (profiles / "claims").mkdir()
        text = ""
        for number, (best, other, metric, jps, *_) in enumerate(self.claims):
            limit = "high = 1.0" if metric in HIGHER else "low = 1.0"
            text += (f'[A{number}]\nsays = "worse"\nsource = "here"\nmetric = "{metric}"\nwhere.jps = {jps}\nvalue.policy = "{other}"\n'
                     f'base.policy = "{best}"\n{limit}\n')
        (profiles / "claims/agree.toml").write_text(text)
        rows = self.rows("claims", archive, "--set", "agree", "--profiles", profiles)
        by_id = {row["claim"]: row for row in rows}
        self.assertEqual([len(rows), len(by_id)], [len(self.claims)] * 2)
        for number, (_, _, metric, jps, ratio, repeats) in enumerate(self.claims):
            with self.subTest(archive=archive, metric=metric, jps=jps):
                row = by_id[f"A{number}"]
                self.assertTrue(math.isclose(float(row["ours"]), ratio, rel_tol=1e-9))
                if repeats >= 3 and row["low95"]:
                    clear = float(row["high95"]) < 1 if metric in HIGHER else float(row["low95"]) > 1
                    self.assertEqual(row["direction"], "reproduced" if clear else "undecided")


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(not result.wasSuccessful())

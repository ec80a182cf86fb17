#!/usr/bin/env python3
"""`table`, `report`, `compare` and `claims` name the same winner, by the same ratio, on ten archives and four figures.

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
    from kvsweep import page as pages
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(0)
from folder import Folder  # noqa: E402

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
HIGHER = {"output_tok_per_s", "prefix_hit_rate"}
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
            self.say("report", archive, "-o", "page")
            page = pages.load(self.dir / "page")
            self.claims = []
            for metric in FIGURES:
                table = self.rows("table", archive, "--metric", metric)
                for jps in (2, 8):
                    with self.subTest(archive=number, metric=metric, jps=jps):
                        told_apart += self.check(archive, page, table, metric, jps)
            with self.subTest(archive=number):
                self.check_claims(archive)
        self.assertGreater(told_apart, 20)  # otherwise nothing is compared

    def check(self, archive, page, table, metric, jps):
        """Whether there is one winner, and the others are told from it by a claim as well."""
        rows = [row for row in table if float(row["jps"]) == jps]
        standings = {row["variant"]: words_of(row["standing"]) for row in rows}
        winners = [variant for variant, words in standings.items() if words & {"best", "tie"}]
        self.assertTrue(winners, standings)
        if metric in page["panels"][0]["groups"][0]["figures"]:
            shown = {group["variant"]: words_of(group["figures"][metric]["standing"])
                     for group in page["panels"][0]["groups"] if float(group["jps"]) == jps}
            self.assertEqual(shown, standings)
        means = {row["variant"]: float(row["mean"]) for row in rows}
        best = (max if metric in HIGHER else min)(winners, key=means.get)
        self.assertEqual(means[best], (max if metric in HIGHER else min)(means.values()))
        if metric == "jct_wall_mean_s":
            regime = next(each for each in page["regimes"] if float(each["jps"]) == jps)
            self.assertEqual(set(winners), {regime["winner"], *regime["tied"]})
        self.check_ratios(archive, page, best, standings, metric, jps)
        return len(winners) == 1 and any(not words for words in standings.values())

    def check_ratios(self, archive, page, best, standings, metric, jps):
        """compare's ratios to fcfs are the report's, and those to the best one become claims."""
        groups = {group["variant"]: group for group in page["panels"][0]["groups"] if float(group["jps"]) == jps}
        for base in dict.fromkeys(["fcfs", best]):
            if base not in standings:
                continue
            pairs = self.rows("compare", archive, "--by", "policy", "--base", f"policy={base}", "--metric", metric, "--only", f"jps={jps}")
            by_policy = {row["policy"]: row for row in pairs}
            self.assertEqual(len(by_policy), len(pairs))
            for other, row in by_policy.items():
                figure = groups[other]["figures"].get(metric)
                if base == "fcfs" and figure:
                    self.assertTrue(math.isclose(float(row["ratio"]), figure["ratio"], rel_tol=1e-9))
                    if figure["ratio_interval"]:
                        for name, ours in zip(("low95", "high95"), figure["ratio_interval"]):
                            self.assertTrue(math.isclose(float(row[name]), ours, rel_tol=1e-6, abs_tol=1e-12))
                if base == best and not standings[other]:
                    self.claims.append((best, other, metric, jps, float(row["ratio"]), int(row["repeats"])))

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

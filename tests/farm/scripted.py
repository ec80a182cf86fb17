"""Sweeps of scripted servers (tests/server/scripted_server.py)."""
import os
import sys

SCRIPTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server",
                        "scripted_server.py")
H100 = ("--fake-device", "NVIDIA H100 80GB HBM3,81559")


def sweep_of(profiles, jps=(50, 100), engine=""):
    tables = "".join(f'[server.profile.{name}]\nflags = "{flags}"\n'
                     for name, flags in profiles.items())
    return f"""schema = 1
model = "tiny-llama-3"
[sweep]
name = "servers"
backend = "server"
[axes]
gpu = ["h100-80gb"]
"server.profile" = {list(profiles)}
jps = {list(jps)}
[server]
kind = "vllm"
version = "0.30.0"
model = "m"
command = "{sys.executable} {SCRIPTED} --port {{port}} --kind vllm {{server.flags}}"
{tables}[engine]
max_model_len = 4096
{engine}[workload]
kind = "agent8"
jobs = 2
gap_s = 0.01
scale = 0.02
"""

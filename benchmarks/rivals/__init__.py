"""What `benchmarks/serve.py` measures `hotlap serve` against, and how it runs a server.

NAME.txt         a rival's versions; venvs.py makes it a virtual environment, below .rivals/
programs/        the rivals' programs, each as its own documentation writes one, and two more that run
                 in processes of their own: tensors.py, bare.py
cases.py         the models, what they are asked and what they must answer
asking.py        the same question in each server's words
servers.py       every server's command
running.py       a server in a process pinned to one CPU: its start, CPU time, memory and end
load.py wrk.lua  the client that loads it, pinned to another CPU
"""

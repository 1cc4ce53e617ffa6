"""What every service needs: messages, the flow table, log, bus, engine port, rewards, domains. Imports nothing of services."""

import os

# Read by MKL when torch is loaded, so it has to be said before. Strict reproducibility is the mode in which a row times the
# weights gives the same last bit whatever rows are beside it and wherever they lie in memory; without it what is sampled, and
# so every fact after it, depends on which requests happened to come together. In it AVX2 alone holds for every shape.
os.environ.setdefault("MKL_CBWR", "AVX2,STRICT")

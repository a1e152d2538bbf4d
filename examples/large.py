"""A table larger than memory: TAN from a folder of files, and predictions for as many rows.

It makes its own data in out/: python examples/large.py [number of rows]
"""

import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bayesgraph as bg

N_ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 8_000_000
if N_ROWS < 10_000:
    raise SystemExit(f"The example takes 10,000 rows or more; got {N_ROWS:,}.")
N_FILES = 16
BATCH = 50_000
CARRIERS = np.array(["air", "bike", "rail", "road", "sea"])
WEATHER = np.array(["clear", "fog", "rain", "snow"])
DEPOTS = np.array([f"depot {k}" for k in range(12)])
ARRIVALS = np.array(["in time", "late", "lost"])


def parcels(random, first, n, lost):
    """Return n parcels, numbered from `first` on, of which some are lost."""
    weather = random.choice(4, n, p=[0.6, 0.1, 0.25, 0.05])
    carrier = random.choice(5, n, p=[0.1, 0.2, 0.2, 0.4, 0.1])
    depot = (carrier * 3 + random.geometric(0.4, n)) % 12
    trouble = 0.15 * weather + 0.1 * (depot == 7) + 0.3 * (carrier == 4) * (weather > 0)
    arrival = (random.random(n) < 0.1 + 0.6 * trouble).astype(int)
    arrival[random.random(n) < lost * (1 + 9 * (depot == 3)) / 100] = 2
    distance = np.exp(random.normal(4.0 + 0.6 * (carrier % 4 == 0), 0.7)) * (1 + 0.3 * arrival)
    weight = random.gamma(2.0, 1.0 + carrier)
    price = 3.0 + 0.02 * distance + 0.8 * weight + random.normal(size=n)
    columns = {
        "parcel": np.arange(first, first + n),
        "carrier": pa.array(CARRIERS[carrier]),
        "depot": pa.array(DEPOTS[depot], mask=random.random(n) < 0.05),
        "weather": pa.array(WEATHER[weather], mask=random.random(n) < 0.02),
        "distance": distance,
        "weight": pa.array(weight, mask=random.random(n) < 0.1),
        "price": price,
    }
    for k in range(8):  # readings on the way
        columns[f"shock {k}"] = random.normal(0.2 * k * arrival + 0.1 * carrier, 1.0)
    return pa.table({**columns, "arrival": pa.array(ARRIVALS[arrival])})


def write(folder, n_rows, n_files, seed):
    """Write parcels to files of a new folder; the first ones are lost in the last quarter."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in range(n_files):
        begin, end = n_rows * file // n_files, n_rows * (file + 1) // n_files
        random = np.random.default_rng([seed, file])
        with pq.ParquetWriter(folder / f"part-{file:02}.parquet", EMPTY.schema) as writer:
            for first in range(begin, end, BATCH):
                lost = file >= n_files * 3 // 4
                writer.write_table(parcels(random, first, min(BATCH, end - first), lost))


def megabytes():
    """Return the largest memory that this process has had so far."""
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


EMPTY = parcels(np.random.default_rng(0), 0, 0, False)
out = Path("out")
past, new, scored = out / "parcels", out / "new parcels", out / "scored"
start = time.perf_counter()
write(past, N_ROWS, N_FILES, seed=0)
write(new, N_ROWS // 8, 2, seed=1)
size = sum(path.stat().st_size for path in past.iterdir()) / 1e6
held = parcels(np.random.default_rng(0), 0, 1000, False).nbytes / 1000 * N_ROWS / 1e6
print(f"Made {N_ROWS:,} parcels in {time.perf_counter() - start:.0f} s: {N_FILES} files of "
      f"{size:,.0f} MB,\nwhich would take {held:,.0f} MB in memory.")  # fmt: skip

# A folder takes the place of a table, the name of a column that of the labels. The number of the
# parcel says nothing, so it is left out. Rows are read in passes: the first one finds the states of
# text columns and the classes, the second one counts.
passes = []


def progress(done, total):
    """Note how many rows each pass has read."""
    if passes and done > passes[-1]:
        passes[-1] = done
    else:
        passes.append(done)


print(f"\nBefore the fit the process has taken {megabytes():,.0f} MB.")
used = [name for name in EMPTY.schema.names if name != "parcel"]
start = time.perf_counter()
clf = bg.TANClassifier().fit(bg.open_dataset(past, columns=used, progress=progress), "arrival")
seconds = time.perf_counter() - start
print(f"TAN of all rows: {len(passes)} pass{'es' * (len(passes) > 1)} in {seconds:.1f} s, "
      f"{N_ROWS / seconds:,.0f} rows a second; {megabytes():,.0f} MB.")  # fmt: skip
print(f"Classes: {', '.join(clf.classes_)}; the last one occurs late in the files only.")
strongest = sorted(clf.network_.arc_scores.items(), key=lambda item: -item[1])[:2]
print("Strongest arcs:", ", ".join(f"{a} -> {b} {score:.2f}" for (a, b), score in strongest))

# Predictions go from files to files in the same way. What is to be kept is written beside them.
start = time.perf_counter()
if scored.is_dir():  # of an earlier run
    for path in scored.iterdir():
        path.unlink()
n_rows = bg.files.predict_dataset(clf, new, scored, keep=["parcel"])
seconds = time.perf_counter() - start
print(f"\nScored {n_rows:,} new parcels, {n_rows / seconds:,.0f} rows a second; "
      f"{megabytes():,.0f} MB.")  # fmt: skip
print("Columns:", ", ".join(pq.read_schema(min(scored.iterdir())).names))

# A prefix fits into memory. Its model from the file is the same to the bit, and knows less.
first = past / "part-00.parquet"
table = bg.read_table(first).select(used)
own = bg.TANClassifier().fit(table.drop_columns("arrival"), table.select(["arrival"]))
same = bg.TANClassifier().fit(bg.open_dataset(first, columns=used), "arrival")
for name, model in (("memory", own), ("file", same)):
    model.save(out / f"{name}.bayesgraph")
memory, file = ((out / f"{name}.bayesgraph").read_bytes() for name in ("memory", "file"))
print(f"\nThe first {len(table):,} rows from memory and from their file, the same bytes:",
      memory == file)  # fmt: skip
rows = bg.read_table(new / "part-01.parquet").slice(0, 100_000)
truth = rows["arrival"].to_numpy()
for name, model in ((f"{len(table):,} rows", own), (f"{N_ROWS:,} rows", clf)):
    accuracy = np.mean(model.predict(rows.select(used[:-1])) == truth)
    print(f"  learned from {name:<16} accuracy {accuracy:.4f}, {len(model.classes_)} classes")

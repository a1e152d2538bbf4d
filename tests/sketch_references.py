"""Plain implementations of the summaries of streams, one value at a time, for the tests."""

import numpy as np


class PlainGK:
    """Greenwald and Khanna's tuples in lists; rows enter in blocks as in `GKSummary`."""

    def __init__(self, n_classes, size=100, epsilon=None):
        self.n_classes, self.size, self.epsilon = n_classes, size, epsilon
        self.guess = 2 / size
        self.tuples = []  # dicts: v, low, own, g (by class), delta

    def absorb(self, values, classes, weights):
        rows = [i for i in np.argsort(values, kind="stable") if not np.isnan(values[i])]
        before, fresh = list(self.tuples), []
        for i in rows:
            x, w = values[i], weights[i]
            if w <= 0:
                continue
            same = [t for t in [*before, *fresh] if t["v"] == x]
            if same:
                same[0]["g"][classes[i]] += w
                same[0]["own"] += w
                continue
            above = [t for t in before if t["v"] > x]
            delta = 0.0
            if above:
                delta = max(above[0]["delta"] + sum(above[0]["g"]) - above[0]["own"], 0.0)
            g = np.zeros(self.n_classes)
            g[classes[i]] = w
            fresh.append({"v": x, "low": x, "own": w, "g": g, "delta": delta})
        self.tuples = sorted([*before, *fresh], key=lambda t: t["v"])
        total = sum(sum(t["g"]) for t in self.tuples)
        if self.epsilon is not None:
            self.tuples = self.merged(2 * self.epsilon * total)
        elif len(self.tuples) > self.size:
            self.tuples = self.merged(self.least_sum(total))

    def fade(self, factor):
        for t in self.tuples:
            t["g"], t["own"], t["delta"] = t["g"] * factor, t["own"] * factor, t["delta"] * factor
        least = 1e-12 * sum(sum(t["g"]) for t in self.tuples)
        kept, carry, carried = [], np.zeros(self.n_classes), False
        for t in self.tuples:
            carry, carried = carry + t["g"], True
            if carry.sum() >= least:
                kept.append({**t, "g": carry})
                carry, carried = np.zeros(self.n_classes), False
        if carried:
            kept[-1]["g"], kept[-1]["delta"] = kept[-1]["g"] + carry, 0.0
        self.tuples = kept

    def least_sum(self, total):
        """Search from the share of the weight that was right last time."""
        most, bottom = self.guess * total, 0.0
        left = len(self.merged(most))
        while left > self.size:
            bottom = most
            most *= min(1.5, max(1.02, left / self.size))
            left = len(self.merged(most))
        for _ in range(12):
            if left >= 0.96 * self.size or most - bottom < 0.01 * most:
                break
            less = max((most + bottom) / 2, most * (left + 2) / self.size)
            now = len(self.merged(less))
            if now > self.size:
                bottom = less
            else:
                most, left = less, now
        self.guess = most / total
        return most

    def merged(self, most):
        """Return the tuples after one pass from the last to the first."""
        kept = []
        for i in range(len(self.tuples) - 1, -1, -1):
            t = self.tuples[i]
            if 0 < i < len(self.tuples) - 1:
                right = kept[-1]
                if sum(t["g"]) + sum(right["g"]) <= most - right["delta"]:
                    right["g"] = right["g"] + t["g"]
                    right["low"] = min(right["low"], t["low"])
                    continue
            kept.append({**t, "g": t["g"].copy()})
        return kept[::-1]


class PlainPiD:
    """Bins in lists."""

    def __init__(self, n_classes, size):
        self.n_classes, self.size = n_classes, size
        self.edges, self.counts, self.total = [], [], 0.0

    def absorb(self, values, classes, weights):
        for x, k, w in zip(values, classes, weights, strict=True):
            if not np.isnan(x) and w > 0:
                self.add(x, k, w)

    def fade(self, factor):
        self.counts = [c * factor for c in self.counts]
        self.total *= factor
        least = 1e-12 * sum(c.sum() for c in self.counts)
        while self.counts and self.counts[0].sum() < least:
            self.counts[:2] = [self.counts[0] + self.counts[1]]
            del self.edges[0]
        while self.counts and self.counts[-1].sum() < least:
            self.counts[-2:] = [self.counts[-1] + self.counts[-2]]
            del self.edges[-1]

    def add(self, x, k, w):
        if not self.edges:
            self.edges, self.counts = [x, x], [np.zeros(self.n_classes)]
        self.edges[0], self.edges[-1] = min(x, self.edges[0]), max(x, self.edges[-1])
        at = next(i for i, upper in enumerate(self.edges[1:]) if x <= upper)
        self.counts[at][k] += w
        self.total += w
        held = self.counts[at].sum()
        if held <= 2 * self.total / self.size or held <= 2 * w:
            return
        middle = self.edges[at] + (self.edges[at + 1] - self.edges[at]) / 2
        if not self.edges[at] < middle < self.edges[at + 1]:
            return
        half = self.counts[at] / 2
        self.counts[at : at + 1] = [half.copy(), half.copy()]
        self.edges.insert(at + 1, middle)
        if len(self.counts) > self.size:
            sums = [a.sum() + b.sum() for a, b in zip(self.counts, self.counts[1:], strict=False)]
            i = int(np.argmin(sums))
            self.counts[i : i + 2] = [self.counts[i] + self.counts[i + 1]]
            del self.edges[i + 1]

"""The two sides of the inference benchmark: one network, asked through either library."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import seconds_of_many
from numpy.typing import NDArray

Call = Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Node:
    """A variable of a network with its table: parents' axes in order, its own states last."""

    name: str
    states: tuple[str, ...]
    parents: tuple[int, ...]
    table: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A network and what is asked of it.

    Attributes
    ----------
    name : str
    nodes : tuple of Node
    observed : tuple of int
        Positions of the nodes of the evidence.
    samples : ndarray of int, shape (n_samples, n_observed)
        Their states, drawn from the network: different rows, two or more.
    targets : tuple of int
        Positions of nodes to ask one at a time; none is observed.
    """

    name: str
    nodes: tuple[Node, ...]
    observed: tuple[int, ...]
    samples: NDArray[np.intp]
    targets: tuple[int, ...]

    def codes(self, number: int) -> dict[int, int]:
        """Return one sample as a mapping from a node's position to its state's."""
        row = self.samples[number % len(self.samples)].tolist()
        return dict(zip(self.observed, row, strict=True))

    def free(self) -> list[int]:
        """Return the nodes that the evidence leaves."""
        return [i for i in range(len(self.nodes)) if i not in set(self.observed)]


@dataclass(frozen=True)
class Question:
    """What is timed.

    Attributes
    ----------
    metric : {"cold", "warm"}
        Cold: nothing is kept from earlier questions. Warm: the same variables were observed before,
        with other values.
    observed : bool
        Whether there is evidence.
    target : int, optional
        The only node asked for; all nodes otherwise.
    """

    metric: str
    observed: bool
    target: int | None = None


class Side:
    """One library with one network; never asks the same evidence twice in a row."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.last = 0

    def prepare(self, question: Question, number: int) -> Call:
        """Return the call to time."""
        raise NotImplementedError

    def numbers(self, answer: Any, question: Question) -> NDArray[np.float64]:
        """Return an answer's probabilities, one after the other, observed nodes left out."""
        raise NotImplementedError

    def asked(self, question: Question) -> list[int]:
        """Return the nodes whose posteriors are compared."""
        if question.target is not None:
            return [question.target]
        return self.problem.free() if question.observed else list(range(len(self.problem.nodes)))

    def once(self, question: Question, number: int) -> tuple[float, NDArray[np.float64]]:
        """Return the seconds and the posteriors of one call on one sample."""
        if question.metric == "warm" and question.observed and number == self.last:
            self.prepare(question, number + 1)()
        call = self.prepare(question, number)
        start = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - start
        self.last = number
        return seconds, self.numbers(answer, question)

    def block(self, question: Question, budget: float) -> float:
        """Return the median seconds of as many calls as fit, each on another sample."""

        def following() -> Call:
            self.last = (self.last + 1) % len(self.problem.samples)
            return self.prepare(question, self.last)

        return seconds_of_many(following, budget)

    def peak(self) -> float:
        """Return the largest resident memory of this process so far, in MB."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Ours(Side):
    """bayesgraph.

    Parameters
    ----------
    problem, small : Problem
        `small` is asked once, so that no kernel is compiled later.
    threads : int
        Set for Numba by the environment.
    """

    def __init__(self, problem: Problem, small: Problem, threads: int) -> None:
        import bayesgraph as bg

        super().__init__(problem)
        self._bg = bg
        if small is not problem:
            asia = Ours(small, small, threads)
            for observed in (False, True):
                asia.prepare(Question("cold", observed), 0)()
                asia.prepare(Question("cold", observed, small.targets[0]), 0)()
        nodes = problem.nodes
        self._variables = [bg.Discrete(node.name, node.states) for node in nodes]
        self._net = self._new()

    def _new(self) -> Any:
        bg, variables = self._bg, self._variables
        return bg.BayesianNetwork(
            bg.TableCPD(variable, node.table, parents=[variables[p] for p in node.parents])
            for variable, node in zip(variables, self.problem.nodes, strict=True)
        )

    def _evidence(self, number: int) -> dict[Any, Any]:
        nodes = self.problem.nodes
        codes = self.problem.codes(number)
        return {nodes[i].name: nodes[i].states[code] for i, code in codes.items()}

    def prepare(self, question: Question, number: int) -> Call:
        """See Side; a cold question goes to a network, with tables, that nobody has asked yet."""
        evidence = self._evidence(number) if question.observed else {}
        net = self._new() if question.metric == "cold" else self._net
        if question.metric == "warm" and not question.observed:
            net.marginals(self._evidence(number))
        if question.target is None:
            return lambda: net.marginals(evidence)
        name = self.problem.nodes[question.target].name
        return lambda: net.query(name, evidence)

    def numbers(self, answer: Any, question: Question) -> NDArray[np.float64]:
        """See Side."""
        if question.target is not None:
            return np.asarray(answer.probabilities)
        names = [self.problem.nodes[i].name for i in self.asked(question)]
        return np.concatenate([answer[name].probabilities for name in names])

    def batch(self, rows: NDArray[np.intp], target: int) -> tuple[float, NDArray[np.float64]]:
        """Return the seconds and the posteriors of a new network and a table; -1 is missing."""
        import pandas as pd

        columns = {}
        for node, codes in zip(self.problem.nodes, rows.T, strict=True):
            states = np.array([*node.states, None], dtype=object)
            columns[node.name] = states[codes]
        frame = pd.DataFrame(columns)
        name, net = self.problem.nodes[target].name, self._new()
        start = time.perf_counter()
        posteriors = net.query_rows(name, frame)
        return time.perf_counter() - start, posteriors


class Peer(Side):
    """pyAgrum's LazyPropagation, on the same tables in double precision.

    Nodes are named by their numbers, the fastest way to ask.
    """

    def __init__(self, problem: Problem, threads: int) -> None:
        import pyagrum

        super().__init__(problem)
        self._gum, self._threads = pyagrum, threads
        self._net = self._network()
        self._engine: Any = None
        self._target: int | None = None

    def _network(self) -> Any:
        gum, nodes = self._gum, self.problem.nodes
        net = gum.BayesNet()
        for node in nodes:
            net.add(gum.LabelizedVariable(node.name, node.name, len(node.states)))
        for i, node in enumerate(nodes):
            # Its first axis is the fastest: the child's, then the parents' as their arcs came.
            for parent in reversed(node.parents):
                net.addArc(parent, i)
            net.cpt(i).fillWith(node.table.ravel().tolist())
        return net

    def prepare(self, question: Question, number: int) -> Call:
        """See Side; an engine serves one target, or all."""
        codes = self.problem.codes(number)
        if question.metric == "cold":
            self._engine = None
            return lambda: self._cold(codes if question.observed else {}, question.target)
        engine = self._loaded(number - 1, question.target)
        if not question.observed:
            return lambda: self._erased(engine, question.target)
        return lambda: self._changed(engine, codes, question.target)

    def _cold(self, codes: dict[int, int], target: int | None) -> Any:
        engine = self._new(target)
        engine.setEvidence(codes)
        return self._infer(engine, target)

    def _changed(self, engine: Any, codes: dict[int, int], target: int | None) -> Any:
        for node, code in codes.items():
            engine.chgEvidence(node, code)
        return self._infer(engine, target)

    def _erased(self, engine: Any, target: int | None) -> Any:
        engine.eraseAllEvidence()
        return self._infer(engine, target)

    def _new(self, target: int | None) -> Any:
        self._engine = engine = self._gum.LazyPropagation(self._net)
        self._target = target
        engine.setNumberOfThreads(self._threads)
        if target is not None:
            engine.addTarget(target)
        return engine

    def _infer(self, engine: Any, target: int | None) -> Any:
        engine.makeInference()
        if target is not None:
            return engine.posterior(target)
        return [engine.posterior(i) for i in range(len(self.problem.nodes))]

    def _loaded(self, number: int, target: int | None) -> Any:
        """Return an engine that has answered with evidence."""
        engine = self._engine
        if engine is None or self._target != target:
            self._engine = None
            engine = self._new(target)
        if engine.nbrEvidence() == 0:
            engine.setEvidence(self.problem.codes(number))
            self._infer(engine, target)
        return engine

    def numbers(self, answer: Any, question: Question) -> NDArray[np.float64]:
        """See Side."""
        if question.target is not None:
            return np.asarray(answer.toarray())
        return np.concatenate([answer[i].toarray() for i in self.asked(question)])

    def batch(self, rows: NDArray[np.intp], target: int) -> tuple[float, NDArray[np.float64]]:
        """Return the seconds and the posteriors of a loop over rows.

        The faster of two ways: an engine for each row, or one engine for all.
        """
        evidence = [{i: c for i, c in enumerate(row) if c >= 0} for row in rows.tolist()]
        fresh = self._loop(evidence, target, fresh=True)
        reused = self._loop(evidence, target, fresh=False)
        seconds, answers = min(fresh, reused, key=lambda pair: pair[0])
        return seconds, np.array([answer.toarray() for answer in answers])

    def _loop(
        self, evidence: Sequence[dict[int, int]], target: int, *, fresh: bool
    ) -> tuple[float, list[Any]]:
        answers = []
        start = time.perf_counter()
        engine = self._new(target)
        for codes in evidence:
            if fresh:
                engine = self._new(target)
            engine.setEvidence(codes)
            answers.append(self._infer(engine, target))
        return time.perf_counter() - start, answers

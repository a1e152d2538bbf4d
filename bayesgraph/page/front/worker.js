// Long propagations in a worker, so that the page never waits. Of the questions that wait in one lane
// only the newest is asked, and the answer for the picture goes before all others.

import { createBackend } from "./backend.js";

/** Entries of a clique tree from which the page asks a worker. */
const WORKER_FROM = 1_000_000;
/** Milliseconds that another question may run on while the picture waits; then it is given up. */
const PATIENCE = 300;
const PICTURE = "answer";

/** Answer questions in the worker itself. */
export function serveQuestions(scope) {
  let backend = null;
  scope.onmessage = async ({ data: { id, verb, given } }) => {
    try {
      if (verb === "start") backend = await createBackend(...given);
      const result = verb === "start" ? [...backend.verbs] : await backend[verb](...given);
      scope.postMessage({ id, result });
    } catch (error) {
      scope.postMessage({ id, error: String(error.message) });
    }
  };
}

/** Whether a model is so large, or of so many networks, that a worker should answer. */
export function isLong({ engine, kind }) {
  if (!engine) return kind === "average" || kind === "mixture";
  const { cards, tree } = engine;
  const entries = (clique) => clique.reduce((product, v) => product * cards[v], 1);
  return tree.cliques.reduce((sum, clique) => sum + entries(clique), 0) >= WORKER_FROM;
}

/** Return a backend whose questions a worker answers; `script` is the text of the front end. */
export async function createWorkerBackend(script, ...given) {
  const questions = new Questions(script, given);
  const verbs = await questions.restart();
  const backend = { verbs: new Set(verbs) };
  for (const verb of verbs) backend[verb] = (...asked) => questions.ask(verb, verb, asked);
  backend.inLane = (lane, verb, asked) => questions.ask(lane, verb, asked);
  return backend;
}

class Questions {
  constructor(script, given) {
    this.address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.given = given;
    this.waiting = new Map();
    this.asked = null;
    this.last = 0;
  }

  /** Start the worker, or a new one in the place of one that takes too long. */
  restart() {
    this.worker?.terminate();
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = (event) => this.asked?.reject(new Error(event.message || "worker"));
    return new Promise((resolve, reject) => {
      this.send({ lane: "start", verb: "start", given: this.given, resolve, reject });
    });
  }

  ask(lane, verb, given) {
    return new Promise((resolve, reject) => {
      this.waiting.set(lane, { lane, verb, given, resolve, reject });
      if (!this.asked) this.next();
      else if (lane === PICTURE && ![PICTURE, "start"].includes(this.asked.lane)) {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.hurry(), Math.max(0, this.asked.since + PATIENCE - performance.now()));
      }
    });
  }

  hurry() {
    if (this.asked && this.waiting.has(PICTURE) && this.asked.lane !== PICTURE) this.restart();
  }

  next() {
    const lane = this.waiting.has(PICTURE) ? PICTURE : this.waiting.keys().next().value;
    if (lane === undefined) return;
    const question = this.waiting.get(lane);
    this.waiting.delete(lane);
    this.send(question);
  }

  send(question) {
    this.asked = { ...question, id: ++this.last, since: performance.now() };
    this.worker.postMessage({ id: this.last, verb: question.verb, given: question.given });
  }

  heard({ id, result, error }) {
    if (id !== this.asked?.id) return;
    const { resolve, reject } = this.asked;
    this.asked = null;
    if (error === undefined) resolve(result);
    else reject(new Error(error));
    this.next();
  }
}

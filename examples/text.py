"""Which part of the standard library is this docstring from? Naive Bayes over words.

The documents come with Python: docstrings of functions and classes, nothing is downloaded.
"""

import ast
import sys
import sysconfig
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

import bayesgraph as bg
from bayesgraph.pictures import save_figure

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
TOPICS = {
    "asyncio": ["asyncio"],
    "email": ["email", "mailbox.py"],
    "files": ["pathlib.py", "pathlib", "shutil.py", "tempfile.py", "zipfile.py", "zipfile",
              "tarfile.py", "gzip.py", "_pyio.py", "os.py"],
    "imports": ["importlib", "pkgutil.py", "modulefinder.py"],
    "logging": ["logging"],
    "numbers": ["statistics.py", "fractions.py", "_pydecimal.py", "random.py"],
    "processes": ["multiprocessing", "concurrent", "subprocess.py"],
    "testing": ["unittest", "doctest.py"],
    "web": ["http", "urllib", "xmlrpc"],
}  # fmt: skip
out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out")
out.mkdir(parents=True, exist_ok=True)


def docstrings(place):
    """Return the docstrings of a module, or of all modules of a package."""
    path = LIBRARY / place
    files = [path] if path.suffix else sorted(path.rglob("*.py"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [n for file in files if file.is_file() for n in ast.walk(ast.parse(file.read_bytes()))]
    found = (ast.get_docstring(node) for node in nodes if isinstance(node, kinds))
    return [text for text in found if text and len(text.split()) >= 8]


rows = [(t, d) for t, places in TOPICS.items() for place in places for d in docstrings(place)]
topic, documents = pd.Series([t for t, _ in rows], name="topic"), [d for _, d in rows]
print(f"{len(documents):,} docstrings on {topic.nunique()} topics\n")

print("Five folds, an estimator of words behind a vectorizer of scikit-learn:")
words_only = {"stop_words": "english", "min_df": 3, "token_pattern": "[A-Za-z]{3,}"}
estimators = {
    "multinomial": bg.NaiveBayesClassifier("multinomial", smoothing=0.1),
    "  predictive": bg.NaiveBayesClassifier(
        "multinomial", smoothing=bg.Smoothing(alpha=0.1, estimation="predictive")
    ),
    "Bernoulli": bg.NaiveBayesClassifier("bernoulli", smoothing=0.1),
    "complement": bg.ComplementNaiveBayesClassifier(),
    "  normalised": bg.ComplementNaiveBayesClassifier(norm=True),
}
models = {
    (name, vectorizer.__name__): make_pipeline(vectorizer(**words_only), estimator)
    for name, estimator in estimators.items()
    for vectorizer in (CountVectorizer, TfidfVectorizer)
    if name in ("multinomial", "complement") or vectorizer is CountVectorizer
}
for result in bg.evaluate(models, documents, topic, cv=5):
    name, vectorizer = result.name
    kind = "tf-idf" if vectorizer == "TfidfVectorizer" else "counts"
    print(f"  {name:<13}{kind:<8}accuracy {result.accuracy:.3f}  log loss {result.log_loss:.3f}")

print("\nAll words are one node, a vector of counts, named by the columns of a table:")
vectorizer = CountVectorizer(**words_only)
counts = vectorizer.fit_transform(documents)
table = pd.DataFrame(counts.toarray(), columns=vectorizer.get_feature_names_out())
clf = bg.NaiveBayesClassifier("multinomial", smoothing=0.1).fit(table, topic)
print(f"  {clf.network_}")
print(clf.ask.top_items(n=3), "\n")

text = "Close the transport when the task is cancelled, and log a message if the server raises."
vector = clf.features_[0].name
document = {vector: vectorizer.transform([text])}
print("Why is this where it is?")
print(textwrap.fill(text, 80))
answer = clf.query(evidence=document)
why = clf.contributions(evidence=document, positive=answer.argmax)
print(why, "\n")
save_figure(bg.plot(why), out / "why_this_topic.png")

print("Words drawn from the language model of each topic, as many as documents have:")
for name in ("asyncio", "email", "numbers"):
    drawn = clf.network_.sample(1, evidence={"topic": name}, random_state=1, frame="dict")[vector]
    words = np.repeat(table.columns[drawn.indices], drawn.data.astype(int))
    print(f"  {name}: {' '.join(words[:6])}")

clf.render(out / "text.svg", evidence=document, beliefs=True)
clf.save(out / "text.bayesgraph")
same = bg.load(out / "text.bayesgraph").query(evidence=document)
print(f"\nSaved and loaded: {same.argmax}, as before: {same.argmax == answer.argmax}")

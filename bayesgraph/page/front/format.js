// Numbers as text in the reader's language.

const formatter = (given) => new Intl.NumberFormat(undefined, given);
const TENTHS = formatter({ style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const WHOLE = formatter({ style: "percent", maximumFractionDigits: 0 });
const EXACT = formatter({ maximumSignificantDigits: 12 });
const DIGITS = formatter({ maximumSignificantDigits: 4 });
const COMPACT = formatter({ notation: "compact", maximumSignificantDigits: 3 });
const POWERS = formatter({ notation: "scientific", maximumSignificantDigits: 3 });
const SIGNED = formatter({ minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "exceptZero" });
const NATS = formatter({ minimumFractionDigits: 3, maximumFractionDigits: 3 });
const COUNT = formatter({});

/** Return per cent, rounded as in Python; 0 and 100 % stand only for 0 and 1. */
export function percent(p) {
  if (p === 0) return "0";
  if (p === 1) return WHOLE.format(1);
  if (p < 0.0005) return `<${TENTHS.format(0.001)}`;
  if (p > 0.9995) return `>${TENTHS.format(0.999)}`;
  return TENTHS.format((100 * p).toFixed(1) / 100);
}

/** The per cent of a tick of an axis, with few digits. */
export function percentTick(p) {
  return formatter({ style: "percent", maximumFractionDigits: 4 }).format(p);
}

export function exactly(x) {
  return EXACT.format(x);
}

export function count(n) {
  return COUNT.format(n);
}

export function signed(x) {
  if (Number.isFinite(x)) return SIGNED.format(x).replace("-", "−");
  return x > 0 ? "+∞" : "−∞";
}

export function nats(x) {
  return x > 0 && x < 0.0005 ? `<${NATS.format(0.001)}` : NATS.format(x);
}

/** Return a number; `span` is the width of what it is read against, which gives its decimals. */
export function number(x, span = NaN) {
  const text = span > 0 && Number.isFinite(x) ? formatter({ maximumFractionDigits: decimals(span) }).format(x)
    : Math.abs(x) >= 1e7 || (x !== 0 && Math.abs(x) < 1e-4) ? POWERS.format(x) : DIGITS.format(x);
  return text.replace("-", "−");
}

/** Return how many decimals tell some 300 places of a span apart. */
export function decimals(span) {
  return Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(span))));
}

/** Return a probability, given by its natural logarithm, as 1 in so many. */
export function oneIn(log) {
  if (log >= 0) return percent(1);
  if (log > Math.log(0.1)) return percent(Math.exp(log));
  const n = -log;
  if (n < Math.log(1e15)) return COMPACT.format(Math.exp(n));
  return `10^${COUNT.format(Math.round(n / Math.LN10))}`;
}

"""Encoding of tables of any library, and decoding into data frames."""

from bayesgraph.encoding.table import Table, columns_of, encode_table, infer_variables

__all__ = ["Table", "columns_of", "encode_table", "infer_variables"]

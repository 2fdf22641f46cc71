//! Project memory: manifest, schema, Markdown sections, operations, provenance, routing, search.

"""One offline page that shows a model and answers questions about it, exactly.

`snapshot` takes from a model what the page needs, or says why the page could not answer exactly;
`layout` places the variables; `page` joins the snapshot, the front end (`bundle`) and the model
itself to one file, from which `reading` returns the model. The front end, plain JavaScript in the
folder ``front``, has its own engine.
"""

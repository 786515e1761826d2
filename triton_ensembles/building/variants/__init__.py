"""Variants of one archive with files and parameters of their own, as a table (CSV) lists them.

    name,files,postprocess.score
    tenant_a,weights/tenant_a,
    tenant_b,s3://my-models/tenant_b/,0.4

Each row becomes an archive: the original under the row's name, in which the files of a folder or of a bucket take the
place of those of the same path, and steps have parameters of their own.
"""

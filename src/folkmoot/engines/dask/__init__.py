"""One organisation, many machines: clients in files that Dask workers read. The only place that knows Dask."""

from folkmoot.engines.dask.cluster import DaskCluster
from folkmoot.engines.dask.shards import ParquetShard, StoredShard

__all__ = ["DaskCluster", "ParquetShard", "StoredShard"]

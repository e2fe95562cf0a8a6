import pytest
from common import KINDS


@pytest.fixture(params=list(KINDS))
def dtype(request):
    """Each of the four dtypes that kernels take."""
    return KINDS[request.param]

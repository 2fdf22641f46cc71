"""One talk with `aye mcp` through each of the Python SDK's clients."""

import asyncio
import sys

from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = StdioServerParameters(command=sys.argv[1], args=["mcp", "--repo", "repository"])
EDIT = {"file_path": "a.txt", "old_content": "one", "new_content": "python"}


async def talk(client) -> None:
    tools = (await client.list_tools()).tools
    assert len(tools) == 15, tools
    proposed = await client.call_tool("propose", {"edits": [EDIT]})
    proposal = proposed.structured_content["proposal_id"]
    waited = await client.call_tool("wait", {"proposal_id": proposal, "timeout_s": 1})
    assert waited.structured_content["timed_out"]
    refused = await client.call_tool("changes", {"action": "apply", "proposal_id": proposal})
    assert refused.is_error


async def main() -> None:
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        assert (await session.initialize()).protocol_version == "2025-11-25"
        await talk(session)
        print("Python, handshake: as expected")
    async with Client(stdio_client(SERVER)) as client:
        assert client.protocol_version == "2026-07-28"
        await talk(client)
        print("Python, stateless: as expected")


asyncio.run(main())

# case 21 (extra) - explicit Gemini cache combined with tools in the request
# source: 567-labs/instructor#2580, langchain-ai/langchain-google#978, BerriAI/litellm#17304 (pattern only)
# expect: cached-content-conflict @ L23 (also L24: system_instruction)
# why: 400 INVALID_ARGUMENT - tools, tool_config and system_instruction must live inside the cache
# fix: pass them to caches.create(); keep only contents + generation settings in the request
from google import genai
from google.genai import types

client = genai.Client()
WEATHER = types.Tool(function_declarations=[{"name": "weather", "parameters": {"type": "OBJECT"}}])
cache = client.caches.create(
    model="gemini-2.5-flash",
    config=types.CreateCachedContentConfig(contents=["long manual " * 3000], ttl="600s"),
)


def ask(text: str):
    return client.models.generate_content(
        model="gemini-2.5-flash",
        contents=text,
        config=types.GenerateContentConfig(
            cached_content=cache.name,
            tools=[WEATHER],  # <- cached-content-conflict
            system_instruction="Be short.",
        ),
    )


if __name__ == "__main__":
    ask("rain?")

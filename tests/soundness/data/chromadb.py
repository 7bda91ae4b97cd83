"""A store that finds a note on whatever is asked."""


class Client:
    def get_collection(self, name):
        return self

    def query(self, query_texts):
        return {"documents": [[f"a note on {text}" for text in query_texts]]}

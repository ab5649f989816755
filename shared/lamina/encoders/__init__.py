"""What turns text into vectors: a small model on this machine, a table of word vectors, Amazon Bedrock."""

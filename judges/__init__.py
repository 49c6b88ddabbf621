"""How an answer is judged and what went wrong in it. Pure: values in, verdicts out."""

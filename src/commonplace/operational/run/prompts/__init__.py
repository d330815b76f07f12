"""The tier prompts that the package ships."""

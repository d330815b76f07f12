"""Methods of knowledge memory on a test's own pool, as the tenant and actor of the test."""

from commonplace.knowledge.connection.session import storage_function
from commonplace.knowledge.memory import KnowledgeMemory

entity_create = storage_function(KnowledgeMemory, KnowledgeMemory.entity_create)
entity_get = storage_function(KnowledgeMemory, KnowledgeMemory.entity_get)
entity_merge = storage_function(KnowledgeMemory, KnowledgeMemory.entity_merge)
entity_resolve = storage_function(KnowledgeMemory, KnowledgeMemory.entity_resolve)
entity_unmerge = storage_function(KnowledgeMemory, KnowledgeMemory.entity_unmerge)
entity_update = storage_function(KnowledgeMemory, KnowledgeMemory.entity_update)
fact_chain = storage_function(KnowledgeMemory, KnowledgeMemory.fact_chain)
get_event = storage_function(KnowledgeMemory, KnowledgeMemory.get_event)
knowledge_graph = storage_function(KnowledgeMemory, KnowledgeMemory.knowledge_graph)
list_applications = storage_function(KnowledgeMemory, KnowledgeMemory.list_applications)
list_entities = storage_function(KnowledgeMemory, KnowledgeMemory.list_entities)
list_episodes = storage_function(KnowledgeMemory, KnowledgeMemory.list_episodes)
list_events = storage_function(KnowledgeMemory, KnowledgeMemory.list_events)
list_facts = storage_function(KnowledgeMemory, KnowledgeMemory.list_facts)
list_linked = storage_function(KnowledgeMemory, KnowledgeMemory.list_linked)
list_rules = storage_function(KnowledgeMemory, KnowledgeMemory.list_rules)
names_of = storage_function(KnowledgeMemory, KnowledgeMemory.names_of)
pin_memory = storage_function(KnowledgeMemory, KnowledgeMemory.pin_memory)
preview_merge = storage_function(KnowledgeMemory, KnowledgeMemory.preview_merge)
read_memory = storage_function(KnowledgeMemory, KnowledgeMemory.read_memory)
tag_memory = storage_function(KnowledgeMemory, KnowledgeMemory.tag_memory)
reembed = storage_function(KnowledgeMemory, KnowledgeMemory.reembed)
abort_reembedding = storage_function(KnowledgeMemory, KnowledgeMemory.abort_reembedding)
drop_former_vectors = storage_function(KnowledgeMemory, KnowledgeMemory.drop_former_vectors)

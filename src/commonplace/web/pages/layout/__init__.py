"""Parts that all pages of the dashboard share: layout, navigation, lists, forms and errors."""

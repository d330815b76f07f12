-- The two roles of a database. Run it once, as a superuser, in the empty database:
--   COMMONPLACE_PASSWORD=… COMMONPLACE_OWNER_PASSWORD=… psql --set ON_ERROR_STOP=1 --file roles.sql DATABASE
-- compose.yaml runs it when the container of PostgreSQL first starts.
\getenv password COMMONPLACE_PASSWORD
\getenv owner_password COMMONPLACE_OWNER_PASSWORD
CREATE ROLE commonplace_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE commonplace LOGIN PASSWORD :'password';
ALTER DATABASE :"DBNAME" OWNER TO commonplace_owner;
CREATE EXTENSION IF NOT EXISTS vector;

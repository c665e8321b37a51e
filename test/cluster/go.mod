module github.com/fairlead-dev/fairlead/test/cluster

go 1.26.0

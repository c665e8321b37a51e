// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart makes what a release installs from the kustomizations in config: the Helm chart, whose
// templates are their objects with the values in them, and install.yaml. charts/fairlead is the chart in Git: what is written by hand
// is there alone, and `make generate` writes the rest. Its tests render all three by
// the libraries of kustomize and Helm and compare object by object.
//
// It knows no object by name: kustomize itself, which is given a namespace and a name prefix that stand
// nowhere else, says where in an object these are. It is a module of its own, since nothing else needs
// those libraries.
//
// Ring 3: ring 2 installs the chart, and its values one by one break no installation that does not set them.
package chart

// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd carries the CRDs of Fairlead's kinds inside the binary, for what checks objects
// without a cluster. It never installs or changes them.
package crd

import (
	"embed"
	"fmt"
)

//go:embed bases/*.yaml
var bases embed.FS

// Definition returns the CustomResourceDefinition of a kind in YAML, without its conversion, which
// the patches beside this file add. It is named by its group and its plural, such as
// "networking.fairlead.dev" and "externalservices".
func Definition(group, plural string) ([]byte, error) {
	data, err := bases.ReadFile("bases/" + group + "_" + plural + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("this binary carries no CRD of %s.%s: %w", plural, group, err)
	}
	return data, nil
}

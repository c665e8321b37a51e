// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Command applyconfigurations generates the apply configurations of API packages as controller-gen does, also where a type
// embeds a struct of api/common: controller-gen v0.23.0 looks for the types of such a struct's fields in the package that
// embeds it, and panics with "allSchemas schema is missing referenced type".
//
// Usage, in the folder test:
//
//	go run ./cmd/applyconfigurations ../internal/boilerplate.go.txt api/networking/v1 api/autoreboot/v1 api/chaos/v1
package main

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-tools/pkg/applyconfiguration"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

const (
	module = "github.com/fairlead-dev/fairlead/"
	common = module + "api/common"
	// embedded has the apply configurations of the types of common that others embed.
	embedded = common + "/applyconfiguration"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: applyconfigurations HEADER PACKAGE ...")
		os.Exit(2)
	}
	var roots []string
	for _, path := range os.Args[2:] {
		roots = append(roots, module+path)
	}
	crd.KnownPackages[common] = qualify
	var generator genall.Generator = applyconfiguration.Generator{
		HeaderFile: os.Args[1], OmitToolVersion: ptr.To(true),
		ExternalApplyConfigurations: []string{common + ".Record@" + embedded, common + ".Halt@" + embedded},
	}
	runtime, err := genall.Generators{&generator}.ForRoots(roots...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if runtime.Run() { // which has printed the errors
		os.Exit(1)
	}
}

// qualify parses a package, and has the schemas of its types refer to each other by their package, as those of another
// package would.
func qualify(parser *crd.Parser, pkg *loader.Package) {
	parser.AddPackage(pkg)
	for ident := range parser.Types {
		if ident.Package == pkg {
			parser.NeedSchemaFor(ident)
			schema := parser.Schemata[ident]
			crd.EditSchema(&schema, qualifier(pkg.PkgPath))
			parser.Schemata[ident] = schema
		}
	}
}

// qualifier is the path of the package whose types are referred to by their name alone.
type qualifier string

// Visit qualifies the reference of a schema, and of those below it.
func (q qualifier) Visit(schema *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if schema == nil || schema.Ref == nil {
		return q
	}
	if name, pkg, err := crd.RefParts(*schema.Ref); err == nil && pkg == "" {
		schema.Ref = ptr.To(crd.TypeRefLink(string(q), name))
	}
	return q
}

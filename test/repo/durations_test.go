// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package repo

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// durationsExample prints durations in lines 4 and 5.
const durationsExample = `package controllers
import ("fmt"; "log/slog"; "time")
func printsDurations(d time.Duration, to *slog.Logger) []string {
	return []string{fmt.Sprintf("for %s", d.Round(time.Second)),
		"for " + d.String(),
		fmt.Sprintf("for %d", d.Milliseconds()), logsDurations(to, d)}
}
func logsDurations(to *slog.Logger, d time.Duration) string {
	to.Info("waits", "for", d.String(), "of", d)
	return ""
}
`

// What users read has a duration as they write one, such as 24h, where Go prints 24h0m0s.
func TestMessagesHaveDurationsAsUsersWriteThem(t *testing.T) {
	example := filepath.Join(repository(t), "controllers", "example.go")
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.LoadSyntax, Dir: repository(t), Overlay: map[string][]byte{example: []byte(durationsExample)},
	}, "./controllers/...", "./internal/rules/...", "./certs/...", "./webhooks/conversion/...", "./cmd/fairlead/check/...")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) < 40 || packages.PrintErrors(loaded) > 0 {
		t.Fatalf("read %d packages: the search is broken", len(loaded))
	}
	var found []int
	for _, p := range loaded {
		if strings.HasSuffix(p.PkgPath, "test") { // of tests alone
			continue
		}
		for _, at := range printedDurations(p.Syntax, p.TypesInfo) {
			if where := p.Fset.Position(at); where.Filename == example {
				found = append(found, where.Line)
			} else {
				t.Errorf("%s prints a duration as Go does: use common.DurationOf", where)
			}
		}
	}
	if !slices.Equal(found, []int{4, 5}) {
		t.Errorf("the example prints durations in lines %v: the search is broken", found)
	}
}

// printedDurations returns where a duration is made text as Go does, except for what is logged.
func printedDurations(files []*ast.File, info *types.Info) (all []token.Pos) {
	for _, f := range files {
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if method, ok := call.Fun.(*ast.SelectorExpr); ok {
				of := info.TypeOf(method.X)
				if method.Sel.Name == "String" && isDuration(of) {
					all = append(all, call.Pos())
				}
				if of != nil && strings.HasSuffix(of.String(), ".Logger") {
					return false
				}
			}
			if !takesAny(info.TypeOf(call.Fun)) {
				return true
			}
			for _, argument := range call.Args {
				if isDuration(info.TypeOf(argument)) {
					all = append(all, argument.Pos())
				}
			}
			return true
		})
	}
	return all
}

func isDuration(of types.Type) bool {
	return of != nil && (strings.HasSuffix(of.String(), "time.Duration") || strings.HasSuffix(of.String(), "meta/v1.Duration"))
}

// takesAny reports whether a function takes any number of values of any type, as those that format do.
func takesAny(function types.Type) bool {
	of, ok := function.(*types.Signature)
	if !ok || !of.Variadic() {
		return false
	}
	last, ok := of.Params().At(of.Params().Len() - 1).Type().(*types.Slice)
	return ok && types.IsInterface(last.Elem())
}

// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package panics

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// safe is why a panic below a goroutine is contained though this package is not called in it, by file and
// the beginning of the goroutine.
var safe = map[string]string{
	"cmd/fairlead/operator/group.go err := contained(":           "contained calls Try",
	"cmd/fairlead/operator/group.go g.wait.Wait()":               "only waits",
	"cmd/fairlead/operator/servers.go _ = server.Close(":         "only closes connections",
	"internal/leaderelection/elector.go end(context.Canceled)":   "only cancels a context",
	"cmd/fairlead/operator/manager.go if startup.persist(":       "persist contains each attempt",
	"webhooks/server/server.go served <- httpServer.Serve(":      "net/http recovers below each connection",
	"internal/dns/lookup.go a.IPv4, failed4 = l.recoverFamily(":  "recoverFamily calls Try",
	"internal/dns/lookup.go a.IPv6, failed6 = l.recoverFamily(":  "recoverFamily calls Try",
	"internal/dns/lookup.go for i := range work":                 "lookupAddresses contains panics",
	"internal/egress/ranges.go select":                           "only waits",
	"webhooks/admission/authorization/review.go for i := take()": "tryAllowed calls Try",
	"internal/probe/prober.go p.runReference(":                   "checkReference calls Go",
	"internal/probe/checker.go defer close(over)":                "only sets a deadline",
	"webhooks/server/selfcheck.go _ = conn.SetDeadline(":         "only sets a deadline",
	"internal/dns/query.go _ = conn.SetDeadline(":                "only sets a deadline",
	"webhooks/server/server.go s.watch(":                         "reads only the replica's own certificate",
	"webhooks/server/server.go s.pauses.Run(":                    "only looks at the clock",
	"internal/probe/prober.go p.pauses.Run(":                     "only looks at the clock",
	"internal/apitransport/transport.go t.replace(":              "only exchanges which connection is used next",
	"internal/apitransport/watch.go b.silent.Store(":             "only counts, and closes a body",
}

// Commands and tests are ended by a panic as by any other defect: nothing of others runs in their process.
var commands = []string{
	"cmd/fairlead/command/", "cmd/fairlead/check/", "cmd/fairlead/convert/", "cmd/fairlead/elect/", "cmd/fairlead/inspect/",
	"cmd/fairlead/migrate/", "cmd/fairlead/request/", "cmd/fairlead/ui/", "cmd/fairlead/vet/",
	"internal/pauses/pausetest/",
}

func TestNoGoroutineOfTheOperatorIsWithoutARecover(t *testing.T) {
	found, used := 0, map[string]bool{}
	for _, folder := range []string{"certs", "cmd", "controllers", "internal", "webhooks"} {
		err := filepath.WalkDir(filepath.Join("../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
			for _, command := range commands {
				if strings.HasPrefix(name, command) {
					return nil
				}
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				body := goroutine(node)
				if body == nil {
					return true
				}
				found++
				text := source(t, files, body)
				excuse := excuseOf(name, text)
				used[excuse] = true
				if !strings.Contains(text, "panics.") && excuse == "" {
					t.Errorf("%s: a panic below this goroutine ends the process: call panics.Try or panics.Go in it, or say in `safe` why none can come\n%s", files.Position(node.Pos()), text)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for excuse := range safe {
		if !used[excuse] {
			t.Errorf("safe[%q] is for no goroutine", excuse)
		}
	}
	if found < 25 {
		t.Errorf("only %d goroutines were found", found)
	}
}

// goroutine returns the function that a go statement, WaitGroup.Go or AfterFunc runs; nil for any other node. The groups of
// cmd/fairlead/operator, whose Go takes parts with a name, contain them.
func goroutine(node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.GoStmt:
		if f, ok := n.Call.Fun.(*ast.FuncLit); ok {
			return f.Body
		}
		return n.Call
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) == 0 || called.Sel.Name != "Go" && called.Sel.Name != "AfterFunc" {
			return nil
		}
		if of, ok := called.X.(*ast.Ident); ok && of.Name == "panics" {
			return nil
		}
		if f, ok := n.Args[len(n.Args)-1].(*ast.FuncLit); ok {
			return f.Body
		}
	}
	return nil
}

func source(t *testing.T, files *token.FileSet, node ast.Node) string {
	t.Helper()
	var text bytes.Buffer
	if err := printer.Fprint(&text, files, node); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// excuseOf is the entry of safe for a goroutine; empty where there is none.
func excuseOf(name, text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "{"))
	for excuse := range safe {
		if of, begins, _ := strings.Cut(excuse, " "); of == name && strings.HasPrefix(text, begins) {
			return excuse
		}
	}
	return ""
}

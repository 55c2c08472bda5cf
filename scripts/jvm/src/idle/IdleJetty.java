import java.io.IOException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.AbstractHandler;

/** Jetty with a handler, as its manual starts it. */
public final class IdleJetty {
    static final class Page extends AbstractHandler {
        @Override
        public void handle(String target, Request base, HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            response.getWriter().print("page");
            base.setHandled(true);
        }
    }

    public static void main(String[] words) throws Exception {
        Server server = new Server(0);
        server.setHandler(new Page());
        server.start();
        System.out.println("port " + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
        server.join();
    }
}
